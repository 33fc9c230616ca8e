package main

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"strconv"
	"time"

	"github.com/emiago/diago"
	"github.com/emiago/sipgo"
	"github.com/emiago/sipgo/sip"
	"github.com/livekit/protocol/livekit"
	"github.com/livekit/protocol/rpc"
	"github.com/livekit/psrpc"
)

const (
	defaultRingTimeout = 30 * time.Second
	// What a phone has to confirm a CANCEL. One that never said a word would be waited for 32 s.
	cancelGrace = time.Second
)

// CreateSIPParticipant dials a number and brings the phone into a room.
func (b *bridge) CreateSIPParticipant(
	_ context.Context, request *rpc.InternalCreateSIPParticipantRequest,
) (*rpc.InternalCreateSIPParticipantResponse, error) {
	attributes := map[string]string{livekit.AttrSIPCallStatus: "dialing"}
	maps.Copy(attributes, request.ParticipantAttributes)
	leg, err := b.join(participant{
		room: request.RoomName, identity: request.ParticipantIdentity, name: request.ParticipantName,
		metadata: request.ParticipantMetadata, attributes: attributes, token: request.Token, url: request.WsUrl,
	})
	if err != nil {
		return nil, psrpc.NewError(psrpc.Internal, err)
	}
	sid := leg.room.LocalParticipant.SID()
	answered := make(chan error, 1)
	go func() { answered <- b.dial(request, leg) }()
	if request.WaitUntilAnswered {
		if err := <-answered; err != nil {
			return nil, err
		}
	}
	return &rpc.InternalCreateSIPParticipantResponse{
		ParticipantId: sid, ParticipantIdentity: request.ParticipantIdentity, SipCallId: request.SipCallId,
	}, nil
}

// dial returns when the phone has answered; the call then lives on by itself.
func (b *bridge) dial(request *rpc.InternalCreateSIPParticipantRequest, leg *roomLeg) error {
	log := slog.With("call", request.SipCallId, "to", request.CallTo, "address", request.Address)
	log.Info("outbound call")
	d, err := b.phones.NewDialog(calledURI(request), diago.NewDialogOptions{Transport: "udp"})
	if err != nil {
		leg.leave(livekit.DisconnectReason_USER_UNAVAILABLE)
		return psrpc.NewError(psrpc.Internal, err)
	}
	phone, err := invite(d, leg, request)
	if err != nil {
		log.Info("not answered", "error", err)
		leg.setStatus("hangup")
		leg.leave(disconnectReason(err))
		return dialError(err)
	}
	log.Info("answered")
	tag, _ := d.InviteResponse.To().Params.Get("tag")
	leg.setAttributes(map[string]string{attrCallIDFull: d.InviteRequest.CallID().Value(), attrCallTag: tag})
	connect(d.Context(), phone, leg)
	go func() {
		defer func() { _ = d.Close() }()
		b.hold(request.SipCallId, &call{dialog: d, refer: func(ctx context.Context, to sip.Uri, headers []sip.Header, notify func(int)) error {
			return d.ReferOptions(ctx, to, diago.ReferClientOptions{Headers: headers, OnNotify: notify})
		}}, leg)
	}()
	return nil
}

func calledURI(request *rpc.InternalCreateSIPParticipantRequest) sip.Uri {
	uri := sip.Uri{Scheme: "sip", User: request.CallTo, Host: request.Address, Port: 5060}
	if host, port, err := net.SplitHostPort(request.Address); err == nil {
		uri.Host = host
		uri.Port, _ = strconv.Atoi(port)
	}
	return uri
}

// invite rings the phone until it answers, refuses, the time is over, or the room ends.
func invite(d *diago.DialogClientSession, leg *roomLeg, request *rpc.InternalCreateSIPParticipantRequest) (*diago.DialogMedia, error) {
	timeout := defaultRingTimeout
	if request.RingingTimeout != nil {
		timeout = request.RingingTimeout.AsDuration()
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	go func() {
		select {
		case <-leg.gone:
			cancel()
		case <-ctx.Done():
		}
	}()
	type outcome struct {
		phone *diago.DialogMedia
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		phone, err := inviteAndAck(ctx, d, inviteOptions(request, leg))
		done <- outcome{phone, err}
	}()
	select {
	case o := <-done:
		return o.phone, o.err
	case <-ctx.Done():
	}
	select {
	case o := <-done:
		return o.phone, o.err
	case <-time.After(cancelGrace):
		return nil, ctx.Err()
	}
}

func inviteAndAck(ctx context.Context, d *diago.DialogClientSession, options diago.InviteClientOptions) (*diago.DialogMedia, error) {
	phone, err := d.Invite(ctx, options)
	if err == nil {
		err = d.Ack(ctx)
	}
	if err == nil {
		return phone, nil
	}
	if d.InviteResponse != nil && d.InviteResponse.IsSuccess() { // the answer crossed our CANCEL
		bye, cancel := context.WithTimeout(context.Background(), byeTimeout)
		defer cancel()
		_ = d.Ack(bye)
		_ = d.Bye(bye)
	}
	_ = d.Close()
	return nil, err
}

func inviteOptions(request *rpc.InternalCreateSIPParticipantRequest, leg *roomLeg) diago.InviteClientOptions {
	options := diago.InviteClientOptions{
		Username: request.Username, Password: request.Password,
		OnResponse: func(response *sip.Response) error {
			if response.StatusCode == sip.StatusRinging || response.StatusCode == sip.StatusSessionInProgress {
				leg.setStatus("ringing")
			}
			return nil
		},
	}
	name := request.Number
	if request.DisplayName != nil {
		name = *request.DisplayName
	}
	options.WithCaller(name, request.Number, loopback)
	for header, value := range request.Headers {
		options.Headers = append(options.Headers, sip.NewHeader(header, value))
	}
	return options
}

// dialError is the error as livekit-server passes it on to who asked for the call.
func dialError(err error) error {
	var refused *sipgo.ErrDialogResponse
	switch {
	case errors.As(err, &refused):
		return &livekit.SIPStatus{Code: livekit.SIPStatusCode(refused.Res.StatusCode), Status: refused.Res.Reason}
	case errors.Is(err, context.DeadlineExceeded):
		return psrpc.NewErrorf(psrpc.Canceled, "sip request timed out")
	case errors.Is(err, context.Canceled):
		return psrpc.NewErrorf(psrpc.Canceled, "the room ended while it rang")
	default:
		return psrpc.NewError(psrpc.Unavailable, err)
	}
}

// disconnectReason tells the room why the phone never came.
func disconnectReason(err error) livekit.DisconnectReason {
	var refused *sipgo.ErrDialogResponse
	if errors.As(err, &refused) {
		switch code := refused.Res.StatusCode; {
		case code == sip.StatusBusyHere, code == sip.StatusForbidden, code >= 600:
			return livekit.DisconnectReason_USER_REJECTED
		}
	}
	return livekit.DisconnectReason_USER_UNAVAILABLE
}
