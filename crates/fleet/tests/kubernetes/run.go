package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// What clients show. It is of this cluster alone, which listens on loopback.
const token = "of-a-cluster-for-tests"

func urls(text string) []url.URL {
	parsed, err := url.Parse(text)
	fail(err)
	return []url.URL{*parsed}
}

func freePort() int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	fail(err)
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// run starts all parts as processes of their own, and ends them with the standard input.
func run(dir string) error {
	client, peer, port := freePort(), freePort(), freePort()
	etcdAt := fmt.Sprintf("http://127.0.0.1:%d", client)
	server := fmt.Sprintf("https://127.0.0.1:%d", port)
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := write(dir, server, kubeconfig); err != nil {
		return err
	}
	var parts []*exec.Cmd
	defer func() { end(parts) }()
	start := func(args ...string) {
		part, err := begin(dir, args)
		fail(err)
		parts = append(parts, part)
	}
	start("etcd", filepath.Join(dir, "etcd"), etcdAt, fmt.Sprintf("http://127.0.0.1:%d", peer))
	start("kube-apiserver", "--etcd-servers="+etcdAt, "--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port), "--cert-dir="+filepath.Join(dir, "certificates"),
		"--token-auth-file="+filepath.Join(dir, "tokens"), "--authorization-mode=AlwaysAllow",
		"--disable-admission-plugins=ServiceAccount", "--service-account-issuer=https://kubernetes",
		"--service-account-key-file="+filepath.Join(dir, "key"),
		"--service-account-signing-key-file="+filepath.Join(dir, "key"),
		"--service-cluster-ip-range=10.0.0.0/24", "--endpoint-reconciler-type=none")
	if err := waitFor(server + "/readyz"); err != nil {
		return err
	}
	start("kube-controller-manager", "--kubeconfig="+kubeconfig, "--leader-elect=false", "--secure-port=0",
		"--controllers=job-controller,ttl-after-finished-controller,garbage-collector-controller,"+
			"node-lifecycle-controller,taint-eviction-controller")
	start("kube-scheduler", "--kubeconfig="+kubeconfig, "--leader-elect=false", "--secure-port=0")
	start("node", kubeconfig, "node1")
	fmt.Println("ready")
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// write makes the files that the parts need.
func write(dir, server, kubeconfig string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	config := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: test
clusters: [{name: test, cluster: {server: "%s", insecure-skip-tls-verify: true}}]
users: [{name: test, user: {token: %s}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
`, server, token)
	for name, text := range map[string]string{
		filepath.Join(dir, "key"):    string(pem.EncodeToMemory(block)),
		filepath.Join(dir, "tokens"): token + ",test,test,system:masters\n",
		kubeconfig:                   config,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// begin starts a part of this program, which ends with us.
func begin(dir string, args []string) (*exec.Cmd, error) {
	log, err := os.Create(filepath.Join(dir, args[0]+".log"))
	if err != nil {
		return nil, err
	}
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	part := exec.Command(own, args...)
	part.Stdout, part.Stderr = log, log
	part.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	return part, part.Start()
}

func end(parts []*exec.Cmd) {
	for place := len(parts) - 1; place >= 0; place-- {
		_ = parts[place].Process.Signal(syscall.SIGTERM)
		gone := make(chan error, 1)
		go func() { gone <- parts[place].Wait() }()
		select {
		case <-gone:
		case <-time.After(3 * time.Second):
			_ = parts[place].Process.Kill()
		}
	}
}

func waitFor(address string) error {
	// The server makes its certificate itself.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	client := &http.Client{Transport: transport, Timeout: time.Second}
	request, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	for begun := time.Now(); time.Since(begun) < 90*time.Second; time.Sleep(200 * time.Millisecond) {
		answer, err := client.Do(request)
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
	}
	return fmt.Errorf("%s is not ready after 90 s", address)
}
