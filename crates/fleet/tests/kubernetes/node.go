package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"syscall"
	"time"

	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// A worker does for one node what a kubelet does, as far as these tests need it: the container of a
// pod is a process of this machine, in its network.
type worker struct {
	client *kubernetes.Clientset
	name   string
	pods   map[types.UID]*pod
}

type pod struct {
	process *exec.Cmd
	ended   chan error
	code    *int32
	// When its process was asked to end.
	asked time.Time
}

func node(kubeconfig, name string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 100, 200
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	it := &worker{client: client, name: name, pods: map[types.UID]*pod{}}
	if err := it.register(ctx); err != nil {
		return err
	}
	defer it.killAll()
	for beat := 0; ctx.Err() == nil; beat++ {
		if beat%20 == 0 {
			if err := it.renew(ctx); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
		if err := it.look(ctx); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		time.Sleep(200 * time.Millisecond)
	}
	return nil
}

func (it *worker) register(ctx context.Context) error {
	resources := core.ResourceList{
		core.ResourceCPU:    resource.MustParse("64"),
		core.ResourceMemory: resource.MustParse("64Gi"),
		core.ResourcePods:   resource.MustParse("110"),
	}
	made := &core.Node{
		ObjectMeta: meta.ObjectMeta{Name: it.name, Labels: map[string]string{core.LabelHostname: it.name}},
		Status: core.NodeStatus{
			Capacity: resources, Allocatable: resources,
			Conditions: []core.NodeCondition{{
				Type: core.NodeReady, Status: core.ConditionTrue, Reason: "Test",
				LastHeartbeatTime: meta.Now(), LastTransitionTime: meta.Now(),
			}},
		},
	}
	if _, err := it.client.CoreV1().Nodes().Create(ctx, made, meta.CreateOptions{}); err != nil {
		return err
	}
	return nil
}

// renew says that the node is alive.
func (it *worker) renew(ctx context.Context) error {
	leases := it.client.CoordinationV1().Leases(core.NamespaceNodeLease)
	now, seconds := meta.NowMicro(), int32(40)
	lease, err := leases.Get(ctx, it.name, meta.GetOptions{})
	if err != nil {
		made := &coordination.Lease{
			ObjectMeta: meta.ObjectMeta{Name: it.name},
			Spec:       coordination.LeaseSpec{HolderIdentity: &it.name, LeaseDurationSeconds: &seconds, RenewTime: &now},
		}
		_, err = leases.Create(ctx, made, meta.CreateOptions{})
		return err
	}
	lease.Spec.RenewTime = &now
	_, err = leases.Update(ctx, lease, meta.UpdateOptions{})
	return err
}

// look starts pods that are new, ends those that are to go, and says what became of the others.
func (it *worker) look(ctx context.Context) error {
	all, err := it.client.CoreV1().Pods("").List(ctx, meta.ListOptions{FieldSelector: "spec.nodeName=" + it.name})
	if err != nil {
		return err
	}
	for place := range all.Items {
		one := &all.Items[place]
		known := it.pods[one.UID]
		switch {
		case one.DeletionTimestamp != nil:
			err = errors.Join(err, it.remove(ctx, one, known))
		case known == nil && one.Status.Phase == core.PodPending:
			values, missing := it.environment(ctx, one, one.Spec.Containers[0])
			if missing != nil {
				// As a kubelet does, it is tried again until the Secret is there.
				continue
			}
			known = &pod{ended: make(chan error, 1)}
			it.pods[one.UID] = known
			start(one, known, values)
			err = errors.Join(err, it.report(ctx, one, known))
		case known != nil && known.code == nil:
			select {
			case result := <-known.ended:
				known.code = codeOf(result)
				err = errors.Join(err, it.report(ctx, one, known))
			default:
			}
		}
	}
	return err
}

func codeOf(result error) *int32 {
	code := int32(0)
	var exit *exec.ExitError
	if errors.As(result, &exit) {
		code = int32(exit.ExitCode())
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			code = 128 + int32(status.Signal())
		}
	} else if result != nil {
		code = 127
	}
	return &code
}

// start runs the command of the pod's only container.
func start(one *core.Pod, known *pod, values map[string]string) {
	container := one.Spec.Containers[0]
	words := append(append([]string{}, container.Command...), container.Args...)
	for place, word := range words {
		words[place] = reference.ReplaceAllStringFunc(word, func(text string) string {
			if value, ok := values[text[2:len(text)-1]]; ok {
				return value
			}
			return text
		})
	}
	process := exec.Command(words[0], words[1:]...)
	process.Env = os.Environ()
	for name, value := range values {
		process.Env = append(process.Env, name+"="+value)
	}
	process.Stdout, process.Stderr = os.Stdout, os.Stderr
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := process.Start(); err != nil {
		known.ended <- err
		return
	}
	known.process = process
	go func() { known.ended <- process.Wait() }()
}

var reference = regexp.MustCompile(`\$\([A-Za-z_][A-Za-z0-9_]*\)`)

func (it *worker) environment(ctx context.Context, one *core.Pod, container core.Container) (map[string]string, error) {
	values := map[string]string{}
	for _, variable := range container.Env {
		values[variable.Name] = variable.Value
		if variable.ValueFrom == nil || variable.ValueFrom.SecretKeyRef == nil {
			continue
		}
		from := variable.ValueFrom.SecretKeyRef
		secret, err := it.client.CoreV1().Secrets(one.Namespace).Get(ctx, from.Name, meta.GetOptions{})
		if err != nil {
			return nil, err
		}
		values[variable.Name] = string(secret.Data[from.Key])
	}
	return values, nil
}

// report writes the status of a pod.
func (it *worker) report(ctx context.Context, one *core.Pod, known *pod) error {
	container := core.ContainerStatus{Name: one.Spec.Containers[0].Name, Image: one.Spec.Containers[0].Image}
	status := &one.Status
	switch {
	case known.code == nil:
		status.Phase, container.Ready = core.PodRunning, true
		container.State.Running = &core.ContainerStateRunning{StartedAt: meta.Now()}
	default:
		status.Phase = core.PodSucceeded
		if *known.code != 0 {
			status.Phase = core.PodFailed
		}
		container.State.Terminated = &core.ContainerStateTerminated{ExitCode: *known.code, FinishedAt: meta.Now()}
	}
	if status.StartTime == nil {
		now := meta.Now()
		status.StartTime = &now
	}
	status.ContainerStatuses = []core.ContainerStatus{container}
	_, err := it.client.CoreV1().Pods(one.Namespace).UpdateStatus(ctx, one, meta.UpdateOptions{})
	return err
}

// remove ends a pod's process, and then the pod. It never waits: other pods are to go, too.
func (it *worker) remove(ctx context.Context, one *core.Pod, known *pod) error {
	if known != nil && known.process != nil && known.code == nil {
		if known.asked.IsZero() {
			known.asked = time.Now()
			_ = syscall.Kill(-known.process.Process.Pid, syscall.SIGTERM)
		} else if time.Since(known.asked) > 3*time.Second {
			_ = syscall.Kill(-known.process.Process.Pid, syscall.SIGKILL)
		}
		select {
		case result := <-known.ended:
			known.code = codeOf(result)
		default:
			return nil
		}
		if err := it.report(ctx, one, known); err != nil {
			return err
		}
	}
	// The Job's finalizer may keep it for a moment.
	now := int64(0)
	return it.client.CoreV1().Pods(one.Namespace).Delete(ctx, one.Name, meta.DeleteOptions{GracePeriodSeconds: &now})
}

func (it *worker) killAll() {
	for _, one := range it.pods {
		if one.process != nil && one.code == nil {
			_ = syscall.Kill(-one.process.Process.Pid, syscall.SIGKILL)
		}
	}
}
