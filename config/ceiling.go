package config

import (
	"errors"
	"strconv"
)

// Ceiling is how many emissions one window may hold. Not set, its Limit is zero,
// which refuses everything, so that a caller who forgets to look at Set errs on
// the refusing side (G7).
type Ceiling struct {
	// Limit of a window; below 1 refuses everything.
	Limit int32
	// Set tells whether the operator gave a limit.
	Set bool
}

// Decode reads a limit. It leaves the ceiling alone when it cannot.
func (ceiling *Ceiling) Decode(text string) error {
	limit, err := parseWhole(text)
	if err != nil {
		return err
	}
	if int64(int32(limit)) != limit {
		return errOutOfRange
	}
	*ceiling = Ceiling{Limit: int32(limit), Set: true}
	return nil
}

var (
	errNotWhole   = errors.New("not a whole number in plain digits")
	errOutOfRange = errors.New("out of range")
)

// parseWhole accepts a number only as it would be printed: neither +5, 007 (is it
// octal?), -0, 1e3, 1_000 nor 0x10 leaves two readers to disagree.
func parseWhole(text string) (int64, error) {
	number, err := strconv.ParseInt(text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, errOutOfRange
	case err != nil, strconv.FormatInt(number, 10) != text:
		return 0, errNotWhole
	}
	return number, nil
}
