package httpemitter

import (
	"context"
	"net"
	"sync/atomic"
	"time"
)

// connection asks the attempt it is bound to before any byte leaves. Unbound, it
// is being set up: a proxy's CONNECT and a TLS handshake pass freely.
//
// It has only the methods of net.Conn: the *net.TCPConn below would let net/http
// send around Write, through ReadFrom.
type connection struct {
	net.Conn
	bound atomic.Pointer[attempt]
}

// dialer opens connections that must be ready for use within timeout.
func dialer(timeout time.Duration) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ready := time.Now().Add(timeout)
		inner, err := (&net.Dialer{Deadline: ready}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		// net/http lets a dial outlive its request; this ends a handshake that
		// nobody waits for any more. Taken off when an attempt is bound.
		if err := inner.SetDeadline(ready); err != nil {
			_ = inner.Close()
			return nil, err
		}
		return &connection{Conn: inner}, nil
	}
}

// Write sends bytes if the attempt they belong to may send here and now.
func (conn *connection) Write(bytes []byte) (int, error) {
	attempt := conn.bound.Load()
	if attempt == nil {
		return conn.Conn.Write(bytes)
	}
	if err := attempt.leave(conn); err != nil {
		return 0, err
	}
	written, err := conn.Conn.Write(bytes)
	attempt.left(written, err)
	return written, err
}

// bind makes an attempt the owner of all bytes from here on.
func (conn *connection) bind(attempt *attempt) error {
	conn.bound.Store(attempt)
	return conn.SetDeadline(time.Time{})
}

// wrapped finds the connection under layers of TLS; nil when it is not ours.
func wrapped(outer net.Conn) *connection {
	for {
		switch layer := outer.(type) {
		case *connection:
			return layer
		case interface{ NetConn() net.Conn }:
			outer = layer.NetConn()
		default:
			return nil
		}
	}
}
