package submission

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/adjourn/adjourn/work"
)

// Options of reading.
type Options struct {
	// PayloadBytesMax bounds a payload; a line may have twice as many bytes, and
	// [lineSlack] more for the other fields.
	PayloadBytesMax int64
	// Files is where payload_file is looked up; nil refuses the field.
	Files *os.Root
	// Now is what deadline_in counts from: the database's clock.
	Now time.Time
}

// lineSlack is the room a line has beside its payload, in bytes.
const lineSlack = 64 << 10

// Line is one line's work, or why there is none.
type Line struct {
	// Number of the line in the text, from 1.
	Number     int
	Submission work.Submission
	// Err is why the line is refused.
	Err error
}

// Reader reads works, line by line. Empty lines are skipped but counted.
type Reader struct {
	input   *bufio.Reader
	options Options
	number  int
}

// NewReader reads lines from input.
func NewReader(input io.Reader, options Options) *Reader {
	return &Reader{input: bufio.NewReaderSize(input, 64<<10), options: options}
}

// Next returns the next line that is not empty. Its error is [io.EOF] at the
// end, or the input's own; a bad line is no error of the reader's.
func (reader *Reader) Next() (Line, error) {
	for {
		text, tooLong, err := reader.readLine()
		if err != nil {
			return Line{}, err
		}
		reader.number++
		if reader.number == 1 {
			text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) // a byte order mark
		}
		line := Line{Number: reader.number}
		switch {
		case tooLong:
			line.Err = fmt.Errorf("the line is longer than %d bytes", reader.lineBytesMax())
		case len(bytes.TrimSpace(text)) == 0:
			continue
		default:
			line.Submission, line.Err = reader.parse(text)
		}
		return line, nil
	}
}

func (reader *Reader) parse(text []byte) (work.Submission, error) {
	parsed, err := parseLine(text)
	if err != nil {
		return work.Submission{}, err
	}
	return parsed.submission(reader.options)
}

func (reader *Reader) lineBytesMax() int { return int(2*reader.options.PayloadBytesMax) + lineSlack }

// readLine returns the next line in memory of its own. Of a line that is too
// long it reads to the end and keeps nothing.
func (reader *Reader) readLine() (text []byte, tooLong bool, err error) {
	for {
		part, err := reader.input.ReadSlice('\n')
		if len(text)+len(part) > reader.lineBytesMax() {
			text, tooLong = nil, true
		}
		if !tooLong {
			text = append(text, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && (tooLong || len(text) > 0):
			return text, tooLong, nil // the last line without its end
		default:
			return text, tooLong, err
		}
	}
}
