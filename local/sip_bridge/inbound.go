package main

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"time"

	"github.com/emiago/diago"
	"github.com/emiago/sipgo/sip"
	"github.com/livekit/protocol/livekit"
	"github.com/livekit/protocol/rpc"
	"github.com/livekit/protocol/utils/guid"
)

const (
	dispatchTimeout = 10 * time.Second
	answerTimeout   = 30 * time.Second
)

// inbound serves one call from a phone until it ends.
func (b *bridge) inbound(d *diago.DialogServerSession) {
	info := describe(d.InviteRequest)
	log := slog.With("call", info.LkCallId, "from", info.From.User, "to", info.To.User)
	log.Info("inbound call")
	respond(log, d, sip.StatusTrying, "Trying")
	who, ok := b.admit(log, d, info)
	if !ok {
		return
	}
	respond(log, d, sip.StatusRinging, "Ringing")
	leg, err := b.join(who)
	if err != nil {
		log.Error("cannot join the room", "error", err)
		respond(log, d, sip.StatusInternalServerError, "Server Error")
		return
	}
	phone := ring(log, d, leg)
	if phone == nil {
		leg.leave(livekit.DisconnectReason_CLIENT_INITIATED)
		return
	}
	log.Info("answered")
	connect(d.Context(), phone, leg)
	b.hold(info.LkCallId, &call{dialog: d, refer: func(ctx context.Context, to sip.Uri, headers []sip.Header, notify func(int)) error {
		return d.ReferOptions(ctx, to, diago.ReferServerOptions{Headers: headers, OnNotify: notify})
	}}, leg)
}

// describe is the call as livekit-server wants to hear of it. The number is passed on as it
// stands: a caller who hides it is "anonymous", as with livekit-sip.
func describe(invite *sip.Request) *rpc.SIPCall {
	source, _, _ := net.SplitHostPort(invite.Source())
	return &rpc.SIPCall{
		LkCallId:  guid.New("SCL_"),
		SipCallId: invite.CallID().Value(),
		SourceIp:  source,
		Address:   describeURI(invite.Recipient),
		From:      describeURI(invite.From().Address),
		To:        describeURI(invite.To().Address),
	}
}

func describeURI(uri sip.Uri) *livekit.SIPUri {
	return &livekit.SIPUri{User: uri.User, Host: uri.Host, Port: uint32(uri.Port)}
}

// admit asks livekit-server which trunk and dispatch rule take the call, and tells the phone if
// there is none.
func (b *bridge) admit(log *slog.Logger, d *diago.DialogServerSession, info *rpc.SIPCall) (participant, bool) {
	ctx, cancel := context.WithTimeout(d.Context(), dispatchTimeout)
	defer cancel()
	trunk, err := b.io.GetSIPTrunkAuthentication(ctx, &rpc.GetSIPTrunkAuthenticationRequest{Call: info})
	if err != nil || trunk.Drop {
		log.Info("refused: no trunk takes it", "error", err)
		respond(log, d, sip.StatusForbidden, "Forbidden")
		return participant{}, false
	}
	if trunk.Username != "" {
		credentials := diago.DigestAuth{Username: trunk.Username, Password: trunk.Password, Realm: "sip", Expire: time.Minute}
		if err := b.digest.AuthorizeDialog(d, credentials); err != nil {
			return participant{}, false // 401 is sent: the phone tries again with its password
		}
	}
	rule, err := b.io.EvaluateSIPDispatchRules(ctx, &rpc.EvaluateSIPDispatchRulesRequest{SipTrunkId: trunk.SipTrunkId, Call: info})
	if err != nil || rule.Result != rpc.SIPDispatchResult_ACCEPT {
		log.Info("refused: no dispatch rule takes it", "result", rule.GetResult(), "error", err)
		respond(log, d, sip.StatusNotFound, "Not Found")
		return participant{}, false
	}
	return participant{
		room: rule.RoomName, identity: rule.ParticipantIdentity, name: rule.ParticipantName,
		metadata: rule.ParticipantMetadata, attributes: inboundAttributes(d.InviteRequest, info, rule),
		config: rule.RoomConfig, token: rule.Token, url: rule.WsUrl,
	}, true
}

func inboundAttributes(invite *sip.Request, info *rpc.SIPCall, rule *rpc.EvaluateSIPDispatchRulesResponse) map[string]string {
	tag, _ := invite.From().Params.Get("tag")
	attributes := map[string]string{
		livekit.AttrSIPCallStatus: "ringing",
		attrCallIDFull:            info.SipCallId,
		attrCallTag:               tag,
	}
	maps.Copy(attributes, rule.ParticipantAttributes)
	for header, attribute := range rule.HeadersToAttributes {
		if value := invite.GetHeader(header); value != nil {
			attributes[attribute] = value.Value()
		}
	}
	return attributes
}

// ring waits until there is something to hear and answers; nil if the call ended before.
func ring(log *slog.Logger, d *diago.DialogServerSession, leg *roomLeg) *diago.DialogMedia {
	timeout := time.NewTimer(answerTimeout)
	defer timeout.Stop()
	select {
	case <-leg.audible:
	case <-d.Context().Done():
		log.Info("the caller hung up while it rang")
		leg.setStatus("hangup")
		return nil
	case <-leg.gone:
		log.Info("the room ended while it rang")
		respond(log, d, sip.StatusTemporarilyUnavailable, "Temporarily Unavailable")
		return nil
	case <-timeout.C:
		log.Warn("nobody in the room answered")
		respond(log, d, sip.StatusTemporarilyUnavailable, "Temporarily Unavailable")
		return nil
	}
	phone, err := d.Answer(diago.AnswerOptions{})
	if err != nil {
		log.Info("the answer did not get through", "error", err)
		return nil
	}
	return phone
}

func respond(log *slog.Logger, d *diago.DialogServerSession, code int, reason string) {
	if err := d.Respond(code, reason, nil); err != nil {
		log.Info("the caller is gone", "code", code, "error", err)
	}
}
