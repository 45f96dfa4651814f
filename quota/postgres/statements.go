package postgres

import _ "embed" // the statements, each in its own file with its reasons

var (
	//go:embed reserve.sql
	reserveSQL string
	//go:embed lock_key.sql
	lockKeySQL string
	//go:embed reserve_once.sql
	reserveOnceSQL string
	//go:embed spend_once.sql
	spendOnceSQL string
	//go:embed prune_once.sql
	pruneOnceSQL string
	//go:embed charge.sql
	chargeSQL string
	//go:embed hold.sql
	holdSQL string
	//go:embed usage.sql
	usageSQL string
	//go:embed windows.sql
	windowsSQL string
	//go:embed figures.sql
	figuresSQL string
	//go:embed add_figures.sql
	addFiguresSQL string
	//go:embed schedule.sql
	scheduleSQL string
	//go:embed open_schedule.sql
	openScheduleSQL string
)
