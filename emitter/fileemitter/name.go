package fileemitter

import (
	"fmt"
	"mime"
	"strings"

	"github.com/adjourn/adjourn/emitter"
)

// streamBytesMax is the register's bound.
const streamBytesMax = 64

// endingDefault is for content types without an ending of their own.
const endingDefault = ".bin"

// fileName is where a work's file goes, with "/" between the parts.
type fileName struct {
	stream string
	file   string
}

func (name fileName) path() string { return name.stream + "/" + name.file }

func nameOf(message emitter.Message) (fileName, error) {
	if !isStream(message.Stream) {
		return fileName{}, fmt.Errorf(
			"stream %.80q: accepted are 1 to 64 of a-z, 0-9, \"_\", \".\" and \"-\", beginning with a letter or digit",
			message.Stream)
	}
	if message.Number < 1 {
		return fileName{}, fmt.Errorf("number %d: accepted are numbers from 1", message.Number)
	}
	return fileName{
		stream: message.Stream,
		file:   fmt.Sprintf("%012d%s", message.Number, endingOf(message.ContentType)),
	}, nil
}

// isStream holds a name to the register's pattern: no separator, no leading dot,
// one case, so that two streams are two directories on every file system.
func isStream(name string) bool {
	const first = "abcdefghijklmnopqrstuvwxyz0123456789"
	return name != "" && len(name) <= streamBytesMax &&
		strings.Contains(first, name[:1]) &&
		!strings.ContainsFunc(name, func(char rune) bool { return !strings.ContainsRune(first+"_.-", char) })
}

// endingOf the file of a content type, parameters aside.
func endingOf(contentType string) string {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return endingDefault
	}
	switch kind {
	case "application/json":
		return ".json"
	case "application/pdf":
		return ".pdf"
	case "application/xml", "text/xml":
		return ".xml"
	case "application/zip":
		return ".zip"
	case "text/csv":
		return ".csv"
	case "text/plain":
		return ".txt"
	}
	return endingDefault
}
