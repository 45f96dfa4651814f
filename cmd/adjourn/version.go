package main

import (
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionInfo is what the build knows of itself.
type versionInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
}

func readVersion() versionInfo {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return versionInfo{Version: "unknown"}
	}
	info := versionInfo{Version: build.Main.Version, Go: build.GoVersion}
	for _, setting := range build.Settings {
		switch setting.Key {
		case "vcs.revision":
			info.Revision = setting.Value
		case "vcs.time":
			info.Time = setting.Value
		case "vcs.modified":
			info.Modified = setting.Value == "true"
		}
	}
	return info
}

func (program *program) versionCommand() *cobra.Command {
	command := &cobra.Command{Use: "version", Short: "Print the version of this program", Args: noArguments()}
	output := addOutput(command)
	command.RunE = func(*cobra.Command, []string) error {
		info := readVersion()
		if *output == jsonFormat {
			return writeJSON(program.stdout, info)
		}
		rows := table{}
		rows.add("version", info.Version)
		rows.add("revision", orDash(info.Revision))
		rows.add("time", orDash(info.Time))
		rows.add("go", info.Go)
		return rows.write(program.stdout)
	}
	return command
}
