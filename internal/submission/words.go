package submission

import (
	"strconv"
	"strings"
)

// quotedMax bounds what a message repeats of the input, in bytes.
const quotedMax = 80

// quote repeats a piece of the input so that it can be printed anywhere.
func quote(text string) string {
	if len(text) > quotedMax {
		return strconv.Quote(strings.ToValidUTF8(text[:quotedMax], "")) + "…"
	}
	return strconv.Quote(text)
}

// nearest is the candidate with the fewest edits from word; empty when none is
// close enough to be what was meant.
func nearest(word string, candidates []string) string {
	if len(word) > quotedMax {
		return ""
	}
	best, fewest := "", 1+max(len(word), 3)/3
	for _, candidate := range candidates {
		if edits := distance(strings.ToLower(word), candidate); edits < fewest {
			best, fewest = candidate, edits
		}
	}
	return best
}

// distance is how many bytes must be inserted, removed or replaced to turn a
// into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
