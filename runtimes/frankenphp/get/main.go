// This program is FrankenPHP in Caddy, like the release, with only what serves PHP over HTTP.
//
// It takes the same arguments and the same Caddyfile as the release:
// `frankenphp run --config FILE --adapter caddyfile`, `frankenphp version`.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/encode"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/encode/gzip"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/fileserver"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/headers"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/rewrite"
	_ "github.com/caddyserver/caddy/v2/modules/filestorage"
	_ "github.com/caddyserver/caddy/v2/modules/logging"
	"github.com/dunglas/frankenphp"
)

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
		case "version", "--version", "-v":
			fmt.Println(version())
			return nil
		case "run":
		case "--adapter":
			at++
		case "--config", "-c":
			at++
			if at < len(words) {
				file = words[at]
			}
		default:
			return fmt.Errorf("unknown word `%s`", words[at])
		}
	}
	if file == "" {
		return fmt.Errorf("usage: frankenphp run --config FILE [--adapter caddyfile]")
	}
	return serve(file)
}

// serve ends PHP after the web server, which waits for requests in flight.
func serve(file string) error {
	config, err := read(file)
	if err != nil {
		return err
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGINT, syscall.SIGTERM)
	if err = caddy.Load(config, false); err != nil {
		return err
	}
	<-asked
	err = caddy.Stop()
	frankenphp.Shutdown()
	return err
}

func read(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	options := map[string]any{"filename": file}
	config, _, err := caddyconfig.GetAdapter("caddyfile").Adapt(text, options)
	return config, err
}

func version() string {
	return fmt.Sprintf("FrankenPHP %s PHP %s Caddy %s (library)", release("dunglas/frankenphp"),
		frankenphp.Version().Version, release("caddyserver/caddy/v2"))
}

func release(module string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, one := range info.Deps {
		if strings.HasSuffix(one.Path, "/"+module) {
			return one.Version
		}
	}
	return "unknown"
}
