// This program is RoadRunner made from its official plugin modules, with only what serves PHP.
//
// It takes the same arguments as the release: `rr serve -s -c FILE`, `rr --version`.
package main

import (
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/roadrunner-server/config/v5"
	"github.com/roadrunner-server/endure/v2"
	"github.com/roadrunner-server/http/v5"
	"github.com/roadrunner-server/logger/v5"
	"github.com/roadrunner-server/rpc/v5"
	"github.com/roadrunner-server/server/v5"
)

// How long the plugins have to end, before main stops waiting for them.
const graceful = 10 * time.Second

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(words []string) error {
	file := ""
	for at := 0; at < len(words); at++ {
		switch words[at] {
		case "--version", "-v":
			fmt.Println(version())
			return nil
		case "serve", "-s":
		case "-c":
			at++
			if at < len(words) {
				file = words[at]
			}
		default:
			return fmt.Errorf("unknown word `%s`", words[at])
		}
	}
	if file == "" {
		return fmt.Errorf("usage: rr serve [-s] -c FILE")
	}
	return serve(file)
}

func serve(file string) error {
	container := endure.New(slog.LevelError, endure.GracefulShutdownTimeout(graceful))
	settings := &config.Plugin{Path: file, Timeout: graceful, Version: release()}
	err := container.RegisterAll(
		settings, &logger.Plugin{}, &rpc.Plugin{}, &server.Plugin{}, &http.Plugin{})
	if err != nil {
		return err
	}
	if err = container.Init(); err != nil {
		return err
	}
	failed, err := container.Serve()
	if err != nil {
		return err
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGINT, syscall.SIGTERM)
	select {
	case result := <-failed:
		_ = container.Stop()
		return result.Error
	case <-asked:
		return container.Stop()
	}
}

// release returns the version of the HTTP plugin. The release it belongs to has another number.
func release() string {
	info, ok := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if ok && module.Path == "github.com/roadrunner-server/http/v5" {
			return module.Version
		}
	}
	return "unknown"
}

func version() string {
	return fmt.Sprintf("rr http %s (assembled), %s", release(), runtime.Version())
}
