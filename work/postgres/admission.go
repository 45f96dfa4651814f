package postgres

import (
	"math"
	"time"

	"github.com/adjourn/adjourn/quota"
	quotapostgres "github.com/adjourn/adjourn/quota/postgres"
	"github.com/adjourn/adjourn/work"
)

// AdmitOptions is what one admission works with.
type AdmitOptions struct {
	work.AdmitOptions
	// Policy in force.
	Policy quota.Policy
	// Register of the quota; of [Store.AdmitUnarbitrated] only its windows'
	// length is used.
	Register quotapostgres.Register
	// Margin before a deadline within which a work is left to the override lane.
	Margin time.Duration
}

// limit of works that may go, and of works that are refused. Asked works are
// their own limit.
func (options AdmitOptions) limit() int {
	if len(options.IDs) > 0 {
		return len(options.IDs)
	}
	return min(max(0, options.Limit), math.MaxInt32)
}

// consider walks the candidates in dispatch order while slots are left: the first
// room of them may go, and observed ones go beyond it; the others are refused.
// It ends when limit may go, and refuses no more than limit. Whoever holds
// refuses observed works too.
func consider(candidates []candidate, room, limit int, hold bool) (mayGo, refused []candidate) {
	for _, considered := range candidates {
		switch {
		case len(mayGo) == limit:
			return mayGo, refused
		case len(mayGo) < room || !considered.enforced && !hold:
			mayGo = append(mayGo, considered)
		case len(refused) < limit:
			refused = append(refused, considered)
		}
	}
	return mayGo, refused
}

// admitted is a candidate that goes.
type admitted struct {
	candidate
	admission work.Admission
}

// divide gives the granted slots to the first of the candidates. Observed ones
// beyond them go all the same, unless the third party asked everyone to wait.
func divide(candidates []candidate, grant quota.Grant) (going []admitted, refused []candidate) {
	hold := grant.Reason == quota.ReasonThirdPartyLimit
	for place, considered := range candidates {
		switch {
		case place < grant.Slots:
			going = append(going, admitted{considered, work.Granted})
		case !considered.enforced && !hold:
			going = append(going, admitted{considered, work.WouldDefer})
		default:
			refused = append(refused, considered)
		}
	}
	return going, refused
}

// carriagesOf cuts what goes into chunks, consecutive in dispatch order. A
// workflow that asked carries all of it itself.
func carriagesOf(going []admitted, slotStart time.Time, options AdmitOptions) []work.Carriage {
	chunk := max(1, options.Chunk)
	if options.WorkflowID != "" {
		chunk = len(going)
	}
	var carriages []work.Carriage
	for place, goes := range going {
		if place%chunk == 0 {
			workflowID := options.WorkflowID
			if workflowID == "" {
				workflowID = work.GovernedWorkflowID(slotStart, goes.ID)
			}
			carriages = append(carriages, work.Carriage{
				Lane: work.Governed, WorkflowID: workflowID, SlotStart: slotStart,
			})
		}
		last := &carriages[len(carriages)-1]
		last.Works = append(last.Works, goes.Ref)
	}
	return carriages
}

// tallyOf counts by flow what went by the given admission.
func tallyOf(going []admitted, admission work.Admission) work.Tally {
	tally := work.Tally{}
	for _, goes := range going {
		if goes.admission == admission {
			tally[goes.Flow]++
		}
	}
	return tally
}

// deferral is what refused works are told.
type deferral struct {
	windowStart time.Time
	reason      quota.Reason
	retryAt     time.Time
}

// results words a deferral for the works that were asked for by ID.
func (why deferral) results(refused []candidate) []work.Result {
	results := make([]work.Result, 0, len(refused))
	for _, waits := range refused {
		results = append(results, work.Result{
			ID: waits.ID, Outcome: work.OutcomeDeferred,
			Reason: string(why.reason), RetryAt: why.retryAt,
		})
	}
	return results
}

// newBatch starts the answer to an admission that looked at these works.
func newBatch(works found) work.AdmissionBatch {
	return work.AdmissionBatch{
		Granted: work.Tally{}, WouldDefer: work.Tally{},
		Carriages: works.carried, Refused: works.waiting,
	}
}
