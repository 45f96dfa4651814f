package config

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kelseyhightower/envconfig"
)

// variable is one field of Config that an environment variable sets.
type variable struct {
	section string
	name    string
	tag     reflect.StructTag
	field   reflect.Value
}

// variablesOf lists the variables of config in the order of its fields.
func variablesOf(config *Config) []variable {
	sections := reflect.ValueOf(config).Elem()
	var variables []variable
	for i := range sections.NumField() {
		if section := sections.Type().Field(i); section.IsExported() {
			variables = append(variables, variablesIn(section.Name, sections.Field(i))...)
		}
	}
	return variables
}

func variablesIn(section string, fields reflect.Value) []variable {
	var variables []variable
	for i := range fields.NumField() {
		tag := fields.Type().Field(i).Tag
		name, named := tag.Lookup("envconfig")
		if !named {
			variables = append(variables, variablesIn(section, fields.Field(i))...)
			continue
		}
		variables = append(variables, variable{section: section, name: name, tag: tag, field: fields.Field(i)})
	}
	return variables
}

// preset is the default, empty for none.
func (variable variable) preset() string { return variable.tag.Get("default") }

// emptyCounts tells whether empty is a value of its own.
func (variable variable) emptyCounts() bool { return variable.tag.Get("empty") != "" }

// shown is text without secrets and control characters.
func (variable variable) shown(text string) string {
	if hider := variable.hider(); hider != nil && text != "" {
		text = hider.redact(text)
	}
	return printable(text)
}

// hider is a type whose text may not be shown as it was written.
type hider interface{ redact(text string) string }

// hider of the variable, nil when it has nothing to hide.
func (variable variable) hider() hider {
	found, _ := variable.field.Interface().(hider)
	return found
}

// decode sets the field, or says in a few words why it cannot.
func (variable variable) decode(text string) error {
	switch target := variable.field.Addr().Interface().(type) {
	case envconfig.Decoder:
		return target.Decode(text)
	case *string:
		if choices := variable.choices(); len(choices) > 0 && !slices.Contains(choices, text) {
			return errors.New("unknown")
		}
		*target = text
		return nil
	case *int:
		return decodeBetween(target, text, variable.tag, parseInt)
	case *int64:
		return decodeBetween(target, text, variable.tag, parseWhole)
	case *float64:
		return decodeBetween(target, text, variable.tag, parseDecimal)
	case *time.Duration:
		return decodeBetween(target, text, variable.tag, parseDuration)
	default:
		return fmt.Errorf("a setting of type %T cannot be read", target)
	}
}

// decodeBetween parses text and holds it to the bounds in tag.
func decodeBetween[T cmp.Ordered](target *T, text string, tag reflect.StructTag, parse func(string) (T, error)) error {
	value, err := parse(text)
	if err != nil {
		return err
	}
	for bound, order := range map[string]int{"min": -1, "max": +1} {
		limit, bounded := tag.Lookup(bound)
		if !bounded {
			continue
		}
		allowed, err := parse(limit)
		if err != nil {
			return fmt.Errorf("the bound %q: %w", limit, err)
		}
		if cmp.Compare(value, allowed) == order {
			return errOutOfRange
		}
	}
	*target = value
	return nil
}

func parseInt(text string) (int, error) {
	number, err := parseWhole(text)
	return int(number), err
}

// decimalPattern leaves out 1e3, NaN, Inf and hexadecimal, which ParseFloat takes.
var decimalPattern = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

func parseDecimal(text string) (float64, error) {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || !decimalPattern.MatchString(text) {
		return 0, errors.New("not a decimal number")
	}
	return number, nil
}

func parseDuration(text string) (time.Duration, error) {
	duration, err := time.ParseDuration(text)
	if err != nil {
		return 0, errors.New("not a duration with its unit")
	}
	return duration, nil
}

func (variable variable) choices() []string { return strings.Fields(variable.tag.Get("oneof")) }

// accepted says in words what decode takes.
func (variable variable) accepted() string {
	if words, given := variable.tag.Lookup("accepts"); given {
		return words
	}
	if choices := variable.choices(); len(choices) > 0 {
		last := len(choices) - 1
		return strings.Join(choices[:last], ", ") + " or " + choices[last]
	}
	least, most := variable.tag.Get("min"), variable.tag.Get("max")
	span := " from " + least + " to " + most
	if most == "" {
		span = " of at least " + least
	}
	switch variable.field.Interface().(type) {
	case time.Duration:
		return "a duration such as 90s, 15m or 1h," + span
	case float64:
		return "a decimal number" + span
	default:
		return "a whole number" + span
	}
}
