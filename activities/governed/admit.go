package governed

import (
	"context"
	"slices"
	"time"

	"github.com/adjourn/adjourn/activities/internal/failure"
	"github.com/adjourn/adjourn/work"
)

// Admitted is what the arbiter answered for works that had no slot.
type Admitted struct {
	// Works hold a slot, or are observed; EmitChunk may be asked for them.
	Works []work.Ref `json:"works,omitempty"`
	// SlotStart is the window of their slots; zero without any.
	SlotStart time.Time `json:"slot_start,omitzero"`
	// Refused are deferred; they wait as before.
	Refused []work.Result `json:"refused,omitempty"`
	// Gone are not for this lane now: finished, urgent, exempt, or carried by
	// another workflow.
	Gone []work.ID `json:"gone,omitempty"`
}

// Admit reserves a slot for each work of the input and marks the works it
// grants as carried by the input's workflow. A refusal is a result. Asked again
// for works it admitted, it repeats their admission without another slot.
func (activities *Activities) Admit(ctx context.Context, input Input) (Admitted, error) {
	if err := checkInput(input); err != nil {
		return Admitted{}, err
	}
	watch := time.Now()
	batch, err := activities.Admitter.Admit(ctx, work.AdmitOptions{
		Limit: len(input.Works), Chunk: len(input.Works),
		IDs: idsOf(input.Works), WorkflowID: input.WorkflowID,
	})
	if err != nil {
		return Admitted{}, failure.Register(err)
	}
	activities.Meter.Reserved(time.Since(watch))
	activities.Meter.Admission(batch)
	return answer(input.Works, batch), nil
}

func answer(asked []work.Ref, batch work.AdmissionBatch) Admitted {
	admitted := Admitted{Refused: batch.Refused}
	for _, carriage := range batch.Carriages {
		admitted.Works = append(admitted.Works, carriage.Works...)
		admitted.SlotStart = carriage.SlotStart
	}
	for _, ref := range asked {
		isRefused := slices.ContainsFunc(batch.Refused, func(result work.Result) bool { return result.ID == ref.ID })
		isAdmitted := slices.ContainsFunc(admitted.Works, func(other work.Ref) bool { return other.ID == ref.ID })
		if !isRefused && !isAdmitted {
			admitted.Gone = append(admitted.Gone, ref.ID)
		}
	}
	return admitted
}
