package config

// RequireDatabase refuses, with an [*Error], a configuration without a database.
func (config Config) RequireDatabase() error {
	return config.missing(config.Database.URL.IsZero(), "DATABASE_URL", "required by this command")
}

// RequireEmitter refuses, with an [*Error], a configuration that does not say
// where to emit to.
func (config Config) RequireEmitter() error {
	if config.Emitter.Kind == "file" {
		return config.missing(config.Emitter.Directory == "", "EMITTER_DIRECTORY",
			"required to emit, because EMITTER_KIND is file")
	}
	return config.missing(config.Emitter.URL.IsZero(), "EMITTER_URL",
		"required to emit, because EMITTER_KIND is http")
}

func (config Config) missing(missing bool, name, detail string) error {
	if !missing {
		return nil
	}
	setting, _ := config.setting(name)
	return &Error{Problems: []Problem{{
		Variable: name, Value: "is not set", Detail: detail, Accepted: setting.Accepted,
	}}}
}
