package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/emiago/sipgo/sip"
	"github.com/livekit/protocol/livekit"
)

const byeTimeout = 5 * time.Second

// dialog is the SIP side of a call, whoever started it.
type dialog interface {
	Context() context.Context
	Hangup(ctx context.Context) error
}

// refer asks the phone to call somebody else; notify gets the SIP status codes of that call.
type refer func(ctx context.Context, to sip.Uri, headers []sip.Header, notify func(code int)) error

type call struct {
	dialog dialog
	refer  refer
}

func (c *call) hangUp() {
	ctx, cancel := context.WithTimeout(context.Background(), byeTimeout)
	defer cancel()
	if err := c.dialog.Hangup(ctx); err != nil {
		slog.Warn("BYE failed", "error", err)
	}
}

// callTable holds the answered calls.
type callTable struct {
	mu    sync.Mutex
	calls map[string]*call
}

func newCallTable() *callTable {
	return &callTable{calls: map[string]*call{}}
}

func (t *callTable) add(id string, c *call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls[id] = c
}

func (t *callTable) remove(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.calls, id)
}

// get returns the call, or nil.
func (t *callTable) get(id string) *call {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.calls[id]
}

func (t *callTable) hangUpAll() {
	t.mu.Lock()
	calls := make([]*call, 0, len(t.calls))
	for _, c := range t.calls {
		calls = append(calls, c)
	}
	t.mu.Unlock()
	var all sync.WaitGroup
	for _, c := range calls {
		all.Go(c.hangUp)
	}
	all.Wait()
}

// hold keeps an answered call until one side ends it.
func (b *bridge) hold(id string, c *call, leg *roomLeg) {
	b.calls.add(id, c)
	defer b.calls.remove(id)
	if err := b.server.RegisterTransferSIPParticipantTopic(id); err != nil {
		slog.Warn("the call cannot be transferred", "call", id, "error", err)
	}
	defer b.server.DeregisterTransferSIPParticipantTopic(id)

	leg.setStatus("active")
	select {
	case <-c.dialog.Context().Done():
		slog.Info("the phone hung up", "call", id)
		leg.setStatus("hangup")
	case <-leg.gone:
		slog.Info("the room ended", "call", id)
		c.hangUp()
	}
	// The last attribute is on its way; leaving at once would overtake it.
	time.Sleep(100 * time.Millisecond)
	leg.leave(livekit.DisconnectReason_CLIENT_INITIATED)
}
