package workflows

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/adjourn/adjourn/work"
)

// Starter starts the workflows of carriages. Safe for concurrent use.
type Starter struct {
	Client client.Client
	Queues Queues
	// SearchAttributes are registered in the namespace; see
	// [SearchAttributesMissing].
	SearchAttributes bool
}

// Start starts the carriage's workflow on its lane's task queue. One that runs
// already under the same id is reported, not an error.
func (starter Starter) Start(ctx context.Context, carriage work.Carriage) (already bool, err error) {
	if len(carriage.Works) == 0 || carriage.WorkflowID == "" {
		return false, fmt.Errorf("start workflow %q with %d works: both must be there",
			carriage.WorkflowID, len(carriage.Works))
	}
	options := startOptions(carriage, starter.Queues.Of(carriage.Lane))
	if starter.SearchAttributes {
		options.TypedSearchAttributes = carriageAttributes(carriage.Works)
	}
	name, input, err := starter.call(carriage)
	if err != nil {
		return false, err
	}
	_, err = starter.Client.ExecuteWorkflow(ctx, options, name, input)
	var running *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &running) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("start workflow %s: %w", carriage.WorkflowID, err)
	}
	return false, nil
}

func (starter Starter) call(carriage work.Carriage) (name string, input any, err error) {
	switch carriage.Lane {
	case work.Governed:
		return NameEmitGoverned, EmitGovernedInput{
			Works: carriage.Works, SlotStart: carriage.SlotStart, SearchAttributes: starter.SearchAttributes,
		}, nil
	case work.Override:
		if len(carriage.Works) != 1 {
			return "", nil, fmt.Errorf("start workflow %s: an override travels alone, got %d works",
				carriage.WorkflowID, len(carriage.Works))
		}
		return NameEmitOverride, EmitOverrideInput{
			Work: carriage.Works[0], SearchAttributes: starter.SearchAttributes,
		}, nil
	case work.Exempt:
		return NameEmitExempt, EmitExemptInput{
			Works: carriage.Works, SearchAttributes: starter.SearchAttributes,
		}, nil
	}
	return "", nil, fmt.Errorf("start workflow %s: unknown lane %q", carriage.WorkflowID, carriage.Lane)
}
