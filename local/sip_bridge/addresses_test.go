package main

import (
	"context"
	"testing"

	"github.com/emiago/sipgo"
	"github.com/emiago/sipgo/sip"
	"github.com/livekit/protocol/livekit"
	"github.com/livekit/protocol/rpc"
)

func TestTransferTargets(t *testing.T) {
	for text, want := range map[string]string{
		"tel:+15105550100":               "sip:+15105550100@127.0.0.1",
		"sip:desk@127.0.0.1:15071":       "sip:desk@127.0.0.1:15071",
		"<sip:+15105550100@example.com>": "sip:+15105550100@example.com",
	} {
		uri, err := transferURI(text)
		if err != nil || uri.String() != want {
			t.Errorf("%s: %s, %v", text, uri.String(), err)
		}
	}
	if _, err := transferURI("nowhere"); err == nil {
		t.Error("a target that is no address was taken")
	}
}

func TestCalledAddress(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:15070": "sip:+15551234567@127.0.0.1:15070",
		"sip.example.com": "sip:+15551234567@sip.example.com:5060",
	} {
		uri := calledURI(&rpc.InternalCreateSIPParticipantRequest{CallTo: "+15551234567", Address: address})
		if uri.String() != want {
			t.Errorf("%s: %s", address, uri.String())
		}
	}
}

func TestOnlyARefusalByTheCalleeIsARejection(t *testing.T) {
	for code, want := range map[int]livekit.DisconnectReason{
		486: livekit.DisconnectReason_USER_REJECTED,
		603: livekit.DisconnectReason_USER_REJECTED,
		404: livekit.DisconnectReason_USER_UNAVAILABLE,
		480: livekit.DisconnectReason_USER_UNAVAILABLE,
	} {
		refusal := &sipgo.ErrDialogResponse{Res: &sip.Response{StatusCode: code}}
		if got := disconnectReason(refusal); got != want {
			t.Errorf("%d: %s", code, got)
		}
	}
	if got := disconnectReason(context.DeadlineExceeded); got != livekit.DisconnectReason_USER_UNAVAILABLE {
		t.Errorf("no answer: %s", got)
	}
}
