package thirdparty

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/adjourn/adjourn/quota"
)

// WindowCount is how many attempts arrived in one window.
type WindowCount struct {
	// Start of the window, in UTC.
	Start time.Time
	// Total of all lanes.
	Total int
	// Lanes counts by lane; attempts without the header are under "".
	Lanes map[string]int
}

// CountByWindow counts every arrival, answered or not, by window of the given
// length; windows without any are left out. The length must satisfy
// [quota.ValidateLength].
func (party *ThirdParty) CountByWindow(length time.Duration) []WindowCount {
	return countByWindow(party.Arrivals(), length)
}

func countByWindow(arrivals []Arrival, length time.Duration) []WindowCount {
	counts := map[int64]*WindowCount{}
	for _, arrival := range arrivals {
		start := quota.WindowAt(arrival.At, length).Start
		count, there := counts[start.UnixNano()]
		if !there {
			count = &WindowCount{Start: start, Lanes: map[string]int{}}
			counts[start.UnixNano()] = count
		}
		count.Total++
		count.Lanes[arrival.Lane]++
	}
	sorted := make([]WindowCount, 0, len(counts))
	for _, count := range counts {
		sorted = append(sorted, *count)
	}
	slices.SortFunc(sorted, func(a, b WindowCount) int { return a.Start.Compare(b.Start) })
	return sorted
}

// Gap is a run of numbers of one stream that never arrived although a higher one
// did.
type Gap struct {
	Stream   string
	From, To int64
}

// Gaps lists the missing numbers of every stream, from 1 to the highest that
// arrived.
func (party *ThirdParty) Gaps() []Gap { return gaps(party.Arrivals()) }

func gaps(arrivals []Arrival) []Gap {
	numbers := map[string][]int64{}
	for _, arrival := range arrivals {
		if arrival.Number > 0 {
			numbers[arrival.Stream] = append(numbers[arrival.Stream], arrival.Number)
		}
	}
	var found []Gap
	for _, stream := range slices.Sorted(maps.Keys(numbers)) {
		slices.Sort(numbers[stream])
		expected := int64(1)
		for _, number := range numbers[stream] {
			if number > expected {
				found = append(found, Gap{Stream: stream, From: expected, To: number - 1})
			}
			expected = number + 1
		}
	}
	return found
}

// DuplicateEffects lists the works that took effect more than once, which the
// third party could not prevent because each came under another key.
func (party *ThirdParty) DuplicateEffects() []string { return duplicateEffects(party.Arrivals()) }

func duplicateEffects(arrivals []Arrival) []string {
	effects := map[string]int{}
	for _, arrival := range arrivals {
		if arrival.Effect && arrival.Work != "" {
			effects[arrival.Work]++
		}
	}
	maps.DeleteFunc(effects, func(_ string, count int) bool { return count < 2 })
	return slices.Sorted(maps.Keys(effects))
}

// SharedNumber is a sequence number that came with more than one work.
type SharedNumber struct {
	Stream string
	Number int64
	Works  []string
}

// SharedNumbers lists every number that was used for more than one work.
func (party *ThirdParty) SharedNumbers() []SharedNumber { return sharedNumbers(party.Arrivals()) }

func sharedNumbers(arrivals []Arrival) []SharedNumber {
	type place struct {
		stream string
		number int64
	}
	works := map[place]map[string]struct{}{}
	for _, arrival := range arrivals {
		if arrival.Number == 0 {
			continue
		}
		at := place{arrival.Stream, arrival.Number}
		if works[at] == nil {
			works[at] = map[string]struct{}{}
		}
		works[at][arrival.Work] = struct{}{}
	}
	var shared []SharedNumber
	for at, users := range works {
		if len(users) > 1 {
			shared = append(shared, SharedNumber{at.stream, at.number, slices.Sorted(maps.Keys(users))})
		}
	}
	slices.SortFunc(shared, func(a, b SharedNumber) int {
		return cmp.Or(cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Number, b.Number))
	})
	return shared
}
