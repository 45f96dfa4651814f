package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"
)

// namespaceRetention is how long Temporal keeps finished workflows of a
// namespace that setup creates.
const namespaceRetention = 3 * 24 * time.Hour

// namespaceVisibleTimeout is how long a new namespace may take to be seen by
// every part of a Temporal cluster, whose caches refresh every ten seconds.
const namespaceVisibleTimeout = 30 * time.Second

// setUpNamespace creates the namespace where it is missing.
func setUpNamespace(ctx context.Context, temporal client.Client, namespace string) Step {
	step := Step{Name: "Temporal namespace " + namespace}
	service := temporal.WorkflowService()
	_, err := service.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	var missing *serviceerror.NamespaceNotFound
	switch {
	case err == nil:
		return step.ended(AlreadyThere, nil)
	case denied(err):
		return step.ended(NotAllowed, err)
	case !errors.As(err, &missing):
		return step.ended(Failed, fmt.Errorf("describe namespace %s: %w", namespace, err))
	}
	_, err = service.RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace:                        namespace,
		Description:                      "Adjourn",
		WorkflowExecutionRetentionPeriod: durationpb.New(namespaceRetention),
	})
	var exists *serviceerror.NamespaceAlreadyExists
	switch {
	case err == nil:
		return step.ended(Created, nil)
	case errors.As(err, &exists): // by another setup, in between
		return step.ended(AlreadyThere, nil)
	case denied(err):
		return step.ended(NotAllowed, err)
	}
	return step.ended(Failed, fmt.Errorf("register namespace %s: %w", namespace, err))
}

// setUpSearchAttributes registers the attributes that are missing. One that
// exists with another type is left alone and reported.
func setUpSearchAttributes(
	ctx context.Context, temporal client.Client, namespace string, attributes map[string]enums.IndexedValueType,
) Step {
	step := Step{Name: "Temporal search attributes"}
	service := temporal.OperatorService()
	known, err := service.ListSearchAttributes(ctx,
		&operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if denied(err) {
		return step.ended(NotAllowed, err)
	}
	if err != nil {
		return step.ended(Failed, fmt.Errorf("list search attributes: %w", err))
	}
	missing := map[string]enums.IndexedValueType{}
	for name, wanted := range attributes {
		kind, there := known.GetCustomAttributes()[name]
		switch {
		case !there:
			missing[name] = wanted
		case kind != wanted:
			return step.ended(Failed, fmt.Errorf("search attribute %s is of type %s, this program needs %s: "+
				"remove it with `temporal operator search-attribute remove --name %s`", name, kind, wanted, name))
		}
	}
	if len(missing) == 0 {
		return step.ended(AlreadyThere, nil)
	}
	_, err = service.AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		SearchAttributes: missing, Namespace: namespace,
	})
	var exists *serviceerror.AlreadyExists
	switch {
	case err == nil:
		return step.ended(Created, nil)
	case errors.As(err, &exists): // by another setup, in between
		return step.ended(AlreadyThere, nil)
	case denied(err):
		return step.ended(NotAllowed, err)
	}
	return step.ended(Failed, fmt.Errorf("add search attributes: %w", err))
}
