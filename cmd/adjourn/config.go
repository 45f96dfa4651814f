package main

import (
	"github.com/spf13/cobra"

	"github.com/adjourn/adjourn/config"
)

func (program *program) configCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "config",
		Short: "Print every setting: its value, where it comes from, its default and its meaning",
		Long: `Print every setting: its value, where it comes from, its default and its
meaning. Secrets are not shown. With a configuration that cannot be used, prints
it all the same, says what is wrong, and exits with status 2.`,
		Args: noArguments(),
	}
	output := addOutput(command)
	command.RunE = func(*cobra.Command, []string) error {
		cfg, problem := config.Load()
		if err := program.printSettings(*output, cfg.Describe()); err != nil {
			return err
		}
		if problem != nil {
			return &usageError{err: problem}
		}
		return nil
	}
	return command
}

func (program *program) printSettings(output format, settings []config.Setting) error {
	if output == jsonFormat {
		return writeJSON(program.stdout, settings)
	}
	rows := table{header: []string{"VARIABLE", "VALUE", "ORIGIN", "DEFAULT", "MEANING"}}
	for _, setting := range settings {
		rows.add(setting.Name, orDash(setting.Value), string(setting.Origin), orDash(setting.Default), setting.Meaning)
	}
	return rows.write(program.stdout)
}
