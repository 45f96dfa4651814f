package telemetry

// UnknownFlow is the label value that all flows the operator did not name share.
const UnknownFlow = "unknown"

// flowLabels maps flows to their bounded set of label values.
type flowLabels map[string]struct{}

func newFlowLabels(flows []string) flowLabels {
	labels := flowLabels{UnknownFlow: {}}
	for _, flow := range flows {
		labels[flow] = struct{}{}
	}
	return labels
}

func (labels flowLabels) label(flow string) string {
	if _, known := labels[flow]; known {
		return flow
	}
	return UnknownFlow
}

func (labels flowLabels) all() []string {
	all := make([]string, 0, len(labels))
	for label := range labels {
		all = append(all, label)
	}
	return all
}
