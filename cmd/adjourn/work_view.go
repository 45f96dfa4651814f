package main

import (
	"strconv"
	"time"

	"github.com/adjourn/adjourn/work"
)

// workView is a work as the commands print it; its JSON form is a stable
// interface.
type workView struct {
	ID             work.ID        `json:"id"`
	Flow           string         `json:"flow"`
	Stream         string         `json:"stream"`
	State          work.State     `json:"state"`
	Lane           work.Lane      `json:"lane,omitempty"`
	Outcome        work.Outcome   `json:"outcome,omitempty"`
	Reason         string         `json:"reason,omitempty"`
	Detail         string         `json:"detail,omitempty"`
	Deadline       time.Time      `json:"deadline,omitzero"`
	Late           bool           `json:"late,omitempty"`
	Number         int64          `json:"number,omitempty"`
	Attempts       int            `json:"attempts"`
	IdempotencyKey string         `json:"idempotency_key"`
	WorkflowID     string         `json:"workflow_id,omitempty"`
	SlotStart      time.Time      `json:"slot_start,omitzero"`
	Admission      work.Admission `json:"admission,omitempty"`
	NotBefore      time.Time      `json:"not_before,omitzero"`
	Receipt        *receiptView   `json:"receipt,omitempty"`
	CreatedAt      time.Time      `json:"created_at"`
	FinishedAt     time.Time      `json:"finished_at,omitzero"`
}

// receiptView is what was kept of the third party's answer.
type receiptView struct {
	Status    int    `json:"status,omitempty"`
	Reference string `json:"reference,omitempty"`
	Answer    string `json:"answer,omitempty"`
}

func viewReceipt(receipt work.Receipt) *receiptView {
	if receipt == (work.Receipt{}) {
		return nil
	}
	return &receiptView{Status: receipt.Status, Reference: receipt.Reference, Answer: receipt.Answer}
}

func viewWork(stored work.Work) workView {
	return workView{
		ID: stored.ID, Flow: stored.Flow, Stream: stored.Stream, State: stored.State, Lane: stored.Lane,
		Outcome: stored.Outcome, Reason: stored.Reason, Detail: stored.Detail,
		Deadline: stored.Deadline.UTC(), Late: stored.Late, Number: stored.Number, Attempts: stored.Attempts,
		IdempotencyKey: stored.IdempotencyKey, WorkflowID: stored.WorkflowID,
		SlotStart: stored.SlotStart.UTC(), Admission: stored.Admission, NotBefore: stored.NotBefore.UTC(),
		Receipt: viewReceipt(stored.Receipt), CreatedAt: stored.CreatedAt.UTC(), FinishedAt: stored.FinishedAt.UTC(),
	}
}

// number prints a count or a number that may be missing.
func number[T ~int | ~int64](value T) string {
	if value == 0 {
		return "-"
	}
	return strconv.FormatInt(int64(value), 10)
}
