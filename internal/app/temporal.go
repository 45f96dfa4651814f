package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
)

// temporalDialTimeout bounds the first contact with Temporal.
const temporalDialTimeout = 10 * time.Second

// TemporalOptions reads the standard TEMPORAL_* variables, and the profile file
// they may name.
func TemporalOptions() (client.Options, error) {
	options, err := envconfig.LoadClientOptions(envconfig.LoadClientOptionsRequest{})
	if err != nil {
		return client.Options{}, fmt.Errorf("read the TEMPORAL_* settings: %w", err)
	}
	if options.HostPort == "" {
		options.HostPort = client.DefaultHostPort
	}
	if options.Namespace == "" {
		options.Namespace = client.DefaultNamespace
	}
	return options, nil
}

// DialTemporal connects and checks that the server answers.
func DialTemporal(ctx context.Context, options client.Options) (client.Client, error) {
	dialCtx, cancel := context.WithTimeout(ctx, temporalDialTimeout)
	defer cancel()
	temporal, err := client.DialContext(dialCtx, options)
	if err != nil {
		return nil, fmt.Errorf("connect to Temporal at %s (TEMPORAL_ADDRESS): %w", options.HostPort, err)
	}
	return temporal, nil
}

// denied tells whether Temporal refused because of who asks, as Temporal Cloud
// does for what is managed elsewhere.
func denied(err error) bool {
	var permission *serviceerror.PermissionDenied
	var unimplemented *serviceerror.Unimplemented
	return errors.As(err, &permission) || errors.As(err, &unimplemented)
}

// lazyTemporal returns a client that connects when first used, for a process
// that has something to say while Temporal is away.
func lazyTemporal(options client.Options) (client.Client, error) {
	temporal, err := client.NewLazyClient(options)
	if err != nil {
		return nil, fmt.Errorf("TEMPORAL_*: %w", err)
	}
	return temporal, nil
}
