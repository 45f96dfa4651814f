package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/adjourn/adjourn/config"
	"github.com/adjourn/adjourn/emitter"
	"github.com/adjourn/adjourn/emitter/fileemitter"
	"github.com/adjourn/adjourn/emitter/httpemitter"
)

// closeEmitterTimeout bounds closing an emitter's connections.
const closeEmitterTimeout = closePoolTimeout

// overrideConnectionsShare of EMITTER_CONNECTIONS_MAX is the override lane's own,
// so that calls that hang in another lane leave it connections to urgent works.
const overrideConnectionsShare = 4

// responseBytesMin is the least of an answer that is worth reading: what is kept
// of it, and echoed secrets whole.
const responseBytesMin = 16 << 10

// openEmitters opens one emitter for the override lane and one for the others,
// of the technology the configuration names, closed at the end. The one given
// serves all lanes instead.
func (parts *parts) openEmitters(given emitter.Emitter) (urgent, others emitter.Emitter, err error) {
	if given != nil {
		return given, given, nil
	}
	if parts.config.Emitter.Kind == "file" {
		both, err := parts.openFileEmitter()
		return both, both, err
	}
	connections := parts.config.Emitter.ConnectionsMax
	reserved := max(1, connections/overrideConnectionsShare)
	urgent, errUrgent := parts.openHTTPEmitter("of the override lane", reserved)
	others, errOthers := parts.openHTTPEmitter("of the other lanes", max(1, connections-reserved))
	return urgent, others, errors.Join(errUrgent, errOthers)
}

func (parts *parts) openFileEmitter() (emitter.Emitter, error) {
	opened, err := fileemitter.New(fileemitter.Options{Directory: parts.config.Emitter.Directory})
	if err != nil {
		return nil, fmt.Errorf("EMITTER_DIRECTORY: %w", err)
	}
	parts.cleanups.add("emitter", closeEmitterTimeout, func(context.Context) error { return opened.Close() })
	return opened, nil
}

func (parts *parts) openHTTPEmitter(name string, connections int) (emitter.Emitter, error) {
	opened, err := httpemitter.New(httpOptions(parts.config, connections))
	if err != nil {
		return nil, fmt.Errorf("EMITTER_*: %w", err)
	}
	parts.cleanups.add("emitter "+name, closeEmitterTimeout, func(context.Context) error {
		opened.Close()
		return nil
	})
	return opened, nil
}

func httpOptions(cfg config.Config, connections int) httpemitter.Options {
	settings := cfg.Emitter
	return httpemitter.Options{
		URL:           settings.URL.Reveal(),
		Authorization: httpemitter.Secret(settings.Authorization.Reveal()),
		TLS: httpemitter.TLSOptions{
			CAFile: settings.TLS.CAFile, CertificateFile: settings.TLS.CertFile, KeyFile: settings.TLS.KeyFile,
			ServerName: settings.TLS.ServerName, VersionMin: settings.TLS.MinVersion,
		},
		ConnectionsMax:   connections,
		ConnectTimeout:   min(settings.ConnectTimeout, cfg.Emission.Timeout),
		Timeout:          cfg.Emission.Timeout,
		ResponseBytesMax: max(responseBytesMin, settings.ResponseBytesMax),
		RetryAfterMax:    cfg.Quota.HoldMax,
	}
}
