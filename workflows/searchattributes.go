package workflows

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/adjourn/adjourn/work"
)

// Names of the search attributes.
const (
	AttributeFlow     = "AdjournFlow"
	AttributeOutcome  = "AdjournOutcome"
	AttributeDeadline = "AdjournDeadline"
)

// SearchAttributes are those to register in the namespace. A workflow carries
// several works, so flow and outcome are lists; the deadline is the earliest.
func SearchAttributes() map[string]enums.IndexedValueType {
	return map[string]enums.IndexedValueType{
		AttributeFlow:     enums.INDEXED_VALUE_TYPE_KEYWORD_LIST,
		AttributeOutcome:  enums.INDEXED_VALUE_TYPE_KEYWORD_LIST,
		AttributeDeadline: enums.INDEXED_VALUE_TYPE_DATETIME,
	}
}

// SearchAttributesMissing lists which attributes the namespace lacks or has with
// another type, sorted. The platform works without them.
func SearchAttributesMissing(ctx context.Context, temporal client.Client, namespace string) ([]string, error) {
	known, err := temporal.OperatorService().ListSearchAttributes(ctx,
		&operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return nil, fmt.Errorf("list search attributes: %w", err)
	}
	var missing []string
	for name, kind := range SearchAttributes() {
		if known.GetCustomAttributes()[name] != kind {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return missing, nil
}

// carriageAttributes are those a workflow starts with.
func carriageAttributes(works []work.Ref) temporal.SearchAttributes {
	var flows []string
	var earliest time.Time
	for _, ref := range works {
		flows = append(flows, ref.Flow)
		if !ref.Deadline.IsZero() && (earliest.IsZero() || ref.Deadline.Before(earliest)) {
			earliest = ref.Deadline
		}
	}
	updates := []temporal.SearchAttributeUpdate{
		temporal.NewSearchAttributeKeyKeywordList(AttributeFlow).ValueSet(distinct(flows)),
	}
	if !earliest.IsZero() {
		updates = append(updates, temporal.NewSearchAttributeKeyTime(AttributeDeadline).ValueSet(earliest))
	}
	return temporal.NewSearchAttributes(updates...)
}

// tellOutcomes makes the workflow findable by what its works came to.
func tellOutcomes(ctx workflow.Context, registered bool, results []work.Result) error {
	if !registered || len(results) == 0 {
		return nil
	}
	var outcomes []string
	for _, result := range results {
		outcomes = append(outcomes, string(result.Outcome))
	}
	return workflow.UpsertTypedSearchAttributes(ctx,
		temporal.NewSearchAttributeKeyKeywordList(AttributeOutcome).ValueSet(distinct(outcomes)))
}

func distinct(values []string) []string {
	slices.Sort(values)
	return slices.Compact(values)
}
