// Package examples holds the sample works of the demo, inside the binary so that
// the demo runs from anywhere.
package examples

import "embed"

// Files are works.ndjson and the payload files it names.
//
//go:embed works.ndjson invoice.xml
var Files embed.FS

// Works is the name of the file of works, a JSON object a line.
const Works = "works.ndjson"
