package submission

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/adjourn/adjourn/work"
)

// Bounds of one batch handed to the register.
const (
	batchWorksMax = 500
	batchBytesMax = 8 << 20
)

// refusalsMax bounds the refusals a report spells out; all are counted.
const refusalsMax = 1000

// Answer is the register's to one work of a batch.
type Answer struct {
	Submitted work.Submitted
	// Err is a [*work.SubmissionError] when the work was refused, any other error
	// when the register could not be asked.
	Err error
}

// Register stores a batch, each work with its own fate, and answers in the same
// order.
type Register func(ctx context.Context, batch []work.Submission) []Answer

// Report is what became of the lines.
type Report struct {
	// Submitted works are new; Repeated ones were known by their idempotency
	// key.
	Submitted int `json:"submitted"`
	Repeated  int `json:"repeated"`
	// RefusedLines counts all refusals; Refused spells out the first thousand.
	RefusedLines int       `json:"refused_lines"`
	Refused      []Refusal `json:"refused"`
}

// Refusal is one line that made no work.
type Refusal struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

func (report *Report) refuse(number int, err error) {
	report.RefusedLines++
	if len(report.Refused) < refusalsMax {
		report.Refused = append(report.Refused, Refusal{Line: number, Reason: err.Error()})
	}
}

// Submit hands every good line to the register and reports on all of them.
// progress is called after each batch. When the input or the register fails, the
// report says how far it came, and the error names the first line that may not
// have been stored.
func Submit(
	ctx context.Context, reader *Reader, register Register, progress func(Report),
) (Report, error) {
	report := Report{Refused: []Refusal{}}
	for {
		batch, end := readBatch(ctx, reader, &report)
		err := submitBatch(ctx, register, batch, &report)
		slices.SortStableFunc(report.Refused, func(a, b Refusal) int { return a.Line - b.Line })
		if err != nil {
			return report, err
		}
		progress(report)
		switch {
		case errors.Is(end, io.EOF):
			return report, nil
		case end != nil:
			return report, fmt.Errorf("read the line after %d: %w", reader.number, end)
		}
	}
}

// readBatch reads good lines up to a batch's bounds; bad ones go to the report.
// Its error is the reader's, or ctx's.
func readBatch(ctx context.Context, reader *Reader, report *Report) ([]Line, error) {
	var batch []Line
	for size := 0; len(batch) < batchWorksMax && size < batchBytesMax; {
		if err := ctx.Err(); err != nil {
			return batch, err
		}
		line, err := reader.Next()
		if err != nil {
			return batch, err
		}
		if line.Err != nil {
			report.refuse(line.Number, line.Err)
			continue
		}
		size += len(line.Submission.Payload)
		batch = append(batch, line)
	}
	return batch, nil
}

func submitBatch(ctx context.Context, register Register, batch []Line, report *Report) error {
	if len(batch) == 0 {
		return nil
	}
	works := make([]work.Submission, len(batch))
	for i, line := range batch {
		works[i] = line.Submission
	}
	answers := register(ctx, works)
	if len(answers) != len(batch) {
		return fmt.Errorf("submit from line %d: %d answers to %d works", batch[0].Number, len(answers), len(batch))
	}
	var fault error
	for i, answer := range answers {
		var refusal *work.SubmissionError
		switch {
		case errors.As(answer.Err, &refusal):
			report.refuse(batch[i].Number, answer.Err)
		case answer.Err != nil && fault == nil:
			fault = fmt.Errorf("submit line %d: %w", batch[i].Number, answer.Err)
		case answer.Err != nil:
		case answer.Submitted.Created:
			report.Submitted++
		default:
			report.Repeated++
		}
	}
	return fault
}
