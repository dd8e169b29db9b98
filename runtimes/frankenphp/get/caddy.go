package main

import (
	"net/http"
	"strconv"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/dunglas/frankenphp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

func init() {
	caddy.RegisterModule(threads{})
	caddy.RegisterModule(scripts{})
	httpcaddyfile.RegisterGlobalOption("frankenphp", parseThreads)
	httpcaddyfile.RegisterHandlerDirective("php", parseScripts)
}

// threads is the Caddy app `frankenphp`. It holds PHP's threads and the worker scripts of some.
type threads struct {
	NumThreads int      `json:"num_threads,omitempty"`
	Workers    []worker `json:"workers,omitempty"`

	logger *zap.Logger
}

type worker struct {
	FileName string `json:"file_name,omitempty"`
	Num      int    `json:"num,omitempty"`
}

func (threads) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "frankenphp", New: func() caddy.Module { return new(threads) }}
}

// Provision sets what happens if a worker script cannot begin: the process ends with the reason as
// its last line, not with Go's stack.
func (t *threads) Provision(ctx caddy.Context) error {
	t.logger = ctx.Logger().WithOptions(zap.WithPanicHook(zapcore.WriteThenFatal))
	return nil
}

// Closed once PHP has begun and each worker script waits for its first request. Caddy starts its
// parts in any order, and an earlier request would run without its worker.
var begun = make(chan struct{})

func (t *threads) Start() error {
	options := []frankenphp.Option{
		frankenphp.WithLogger(t.logger),
		frankenphp.WithNumThreads(t.NumThreads),
	}
	for _, one := range t.Workers {
		options = append(options, frankenphp.WithWorkers(one.FileName, one.Num, nil, nil))
	}
	if err := frankenphp.Init(options...); err != nil {
		return err
	}
	close(begun)
	return nil
}

// Stop does nothing: Caddy stops its apps in any order, and requests in flight need PHP.
func (*threads) Stop() error {
	return nil
}

func parseThreads(d *caddyfile.Dispenser, _ any) (any, error) {
	app := threads{}
	d.Next()
	for d.NextBlock(0) {
		switch d.Val() {
		case "num_threads":
			if err := number(d, &app.NumThreads); err != nil {
				return nil, err
			}
		case "worker":
			one, err := parseWorker(d)
			if err != nil {
				return nil, err
			}
			app.Workers = append(app.Workers, one)
		default:
			return nil, d.Errf("unknown word `%s`", d.Val())
		}
	}
	return httpcaddyfile.App{Name: "frankenphp", Value: caddyconfig.JSON(app, nil)}, nil
}

func parseWorker(d *caddyfile.Dispenser) (worker, error) {
	one := worker{}
	for d.NextBlock(1) {
		switch d.Val() {
		case "file":
			if !d.Args(&one.FileName) {
				return one, d.ArgErr()
			}
		case "num":
			if err := number(d, &one.Num); err != nil {
				return one, err
			}
		default:
			return one, d.Errf("unknown word `%s`", d.Val())
		}
	}
	return one, nil
}

func number(d *caddyfile.Dispenser, into *int) error {
	word := ""
	if !d.Args(&word) {
		return d.ArgErr()
	}
	value, err := strconv.Atoi(word)
	if err != nil || value < 1 {
		return d.Errf("`%s` is no number of threads", word)
	}
	*into = value
	return nil
}

// scripts is the HTTP handler `php`: it runs the script below the root that the path names.
type scripts struct {
	Root string `json:"root,omitempty"`

	logger *zap.Logger
}

func (scripts) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.php",
		New: func() caddy.Module { return new(scripts) },
	}
}

func (s *scripts) Provision(ctx caddy.Context) error {
	s.logger = ctx.Logger()
	return nil
}

func (s *scripts) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	select {
	case <-begun:
	case <-r.Context().Done():
		return r.Context().Err()
	}
	// The request as the client sent it, before the path was rewritten to the front controller.
	sent := r.Context().Value(caddyhttp.OriginalRequestCtxKey).(http.Request)
	request, err := frankenphp.NewRequestWithContext(
		r,
		frankenphp.WithRequestDocumentRoot(s.Root, false),
		frankenphp.WithOriginalRequest(&sent),
		frankenphp.WithRequestLogger(s.logger),
	)
	if err == nil {
		err = frankenphp.ServeHTTP(w, request)
	}
	if err != nil {
		return caddyhttp.Error(http.StatusInternalServerError, err)
	}
	return nil
}

func parseScripts(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	handler := &scripts{}
	h.Next()
	for h.NextBlock(0) {
		if h.Val() != "root" || !h.Args(&handler.Root) {
			return nil, h.Errf("unknown word `%s`", h.Val())
		}
	}
	return handler, nil
}
