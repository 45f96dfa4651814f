package devstack

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is whom the Postgres programs run as. Postgres refuses to run as root,
// and containers run as root, so root lends them to an unprivileged user.
type account struct {
	name     string
	uid, gid uint32
	// borrowed tells that it is not this process's own user.
	borrowed bool
}

// postgresAccount is this process's own user, or for root the first of
// "postgres" and "nobody" that the machine knows.
func postgresAccount() (account, error) {
	if uid := os.Geteuid(); uid != 0 {
		return account{name: "uid " + strconv.Itoa(uid), uid: uint32(uid), gid: uint32(os.Getegid())}, nil
	}
	var failures []error
	for _, name := range []string{"postgres", "nobody"} {
		found, err := lookUp(name)
		if err == nil {
			return found, nil
		}
		failures = append(failures, err)
	}
	return account{}, fmt.Errorf("find an unprivileged user for postgres, which refuses to run as root: %w",
		errors.Join(failures...))
}

func lookUp(name string) (account, error) {
	entry, err := user.Lookup(name)
	if err != nil {
		return account{}, err
	}
	uid, uidErr := strconv.ParseUint(entry.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(entry.Gid, 10, 32)
	if err := errors.Join(uidErr, gidErr); err != nil {
		return account{}, fmt.Errorf("user %s: %w", name, err)
	}
	if uid == 0 {
		return account{}, fmt.Errorf("user %s is root itself", name)
	}
	return account{name: name, uid: uint32(uid), gid: uint32(gid), borrowed: true}, nil
}

// credential is nil for this process's own user.
func (who account) credential() *syscall.Credential {
	if !who.borrowed {
		return nil
	}
	return &syscall.Credential{Uid: who.uid, Gid: who.gid}
}

// own gives path to the account.
func (who account) own(path string) error {
	if !who.borrowed {
		return nil
	}
	return os.Chown(path, int(who.uid), int(who.gid))
}

// barrier is the first directory on the way to path that a borrowed account may
// not enter, empty when there is none. A checkout below /root is the usual case.
func (who account) barrier(path string) (string, error) {
	if !who.borrowed {
		return "", nil
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	for directory := path; ; directory = filepath.Dir(directory) {
		info, err := os.Stat(directory)
		if err != nil {
			return "", err
		}
		if !who.mayEnter(info) {
			return directory, nil
		}
		if directory == filepath.Dir(directory) {
			return "", nil
		}
	}
}

func (who account) mayEnter(info os.FileInfo) bool {
	mode, owner := info.Mode().Perm(), info.Sys().(*syscall.Stat_t)
	switch {
	case owner.Uid == who.uid:
		return mode&0o100 != 0
	case owner.Gid == who.gid:
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}
