package accounting

import "github.com/adjourn/adjourn/work"

// lossNamesMax bounds the names one report spells out; the rest share one.
const lossNamesMax = 100

// loss counts lost emissions by "lane/flow".
type loss map[string]int

func (lost loss) add(emission work.Emission) {
	name := string(emission.Lane) + "/" + emission.Flow
	if _, known := lost[name]; !known && len(lost) >= lossNamesMax {
		name = string(emission.Lane) + "/(other flows)"
	}
	lost[name]++
}

func (lost loss) total() int {
	total := 0
	for _, count := range lost {
		total += count
	}
	return total
}
