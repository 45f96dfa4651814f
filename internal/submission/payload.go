package submission

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// contentTypes by the ending of a file's name. The system's own table would make
// the same file travel differently from two machines.
var contentTypes = map[string]string{
	".json": "application/json",
	".xml":  "application/xml",
	".txt":  "text/plain; charset=utf-8",
	".csv":  "text/csv; charset=utf-8",
	".pdf":  "application/pdf",
	".zip":  "application/zip",
	".gz":   "application/gzip",
}

// contentTypeOf a file by its name's ending; "application/octet-stream" when the
// ending says nothing.
func contentTypeOf(name string) string {
	if contentType, known := contentTypes[strings.ToLower(filepath.Ext(name))]; known {
		return contentType
	}
	return "application/octet-stream"
}

// ReadPayload reads a payload of at most bytesMax bytes from a file anywhere,
// with its content type by the name's ending.
func ReadPayload(path string, bytesMax int64) (payload []byte, contentType string, err error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, "", fmt.Errorf("payload_file %s: %w", quote(path), err)
	}
	defer root.Close()
	return readPayload(root, filepath.Base(path), bytesMax)
}

func readPayload(root *os.Root, name string, bytesMax int64) (payload []byte, contentType string, err error) {
	blame := func(err error) ([]byte, string, error) {
		return nil, "", fmt.Errorf("payload_file %s: %w", quote(name), err)
	}
	if root == nil {
		return blame(errors.New("accepted only where the input has a directory of its own"))
	}
	// Before opening: opening a named pipe would wait for its writer.
	info, err := root.Stat(name)
	if err != nil {
		return blame(err)
	}
	if !info.Mode().IsRegular() {
		return blame(errors.New("accepted are regular files"))
	}
	file, err := root.Open(name)
	if err != nil {
		return blame(err)
	}
	payload, err = io.ReadAll(io.LimitReader(file, bytesMax+1))
	if err := errors.Join(err, file.Close()); err != nil {
		return blame(err)
	}
	return checkBytes(payload, contentTypeOf(name), bytesMax)
}

func checkBytes(payload []byte, contentType string, bytesMax int64) ([]byte, string, error) {
	if int64(len(payload)) > bytesMax {
		return nil, "", fmt.Errorf("payload: accepted are at most %d bytes (ADJOURN_PAYLOAD_BYTES_MAX)", bytesMax)
	}
	return payload, contentType, nil
}
