package main

import (
	"context"
	"strings"

	"github.com/emiago/sipgo/sip"
	"github.com/livekit/protocol/livekit"
	"github.com/livekit/protocol/rpc"
	"github.com/livekit/psrpc"
)

// TransferSIPParticipant asks the phone to call somebody else (REFER) and hangs up once it has
// got through.
func (b *bridge) TransferSIPParticipant(
	ctx context.Context, request *rpc.InternalTransferSIPParticipantRequest,
) (*rpc.InternalTransferSIPParticipantResponse, error) {
	c := b.calls.get(request.SipCallId)
	if c == nil {
		return nil, psrpc.NewErrorf(psrpc.NotFound, "no such call")
	}
	to, err := transferURI(request.TransferTo)
	if err != nil {
		return nil, psrpc.NewError(psrpc.InvalidArgument, err)
	}
	var headers []sip.Header
	for header, value := range request.Headers {
		headers = append(headers, sip.NewHeader(header, value))
	}
	codes := make(chan int, 8)
	if err := c.refer(ctx, to, headers, func(code int) { codes <- code }); err != nil {
		return nil, psrpc.NewError(psrpc.Unavailable, err)
	}
	for {
		select {
		case code := <-codes:
			switch {
			case code >= 300:
				return nil, &livekit.SIPStatus{Code: livekit.SIPStatusCode(code)}
			case code >= 200:
				go c.hangUp()
				return &rpc.InternalTransferSIPParticipantResponse{}, nil
			}
		case <-ctx.Done():
			return nil, psrpc.NewErrorf(psrpc.DeadlineExceeded, "transfer timed out")
		}
	}
}

// transferURI reads "sip:…", "<sip:…>" or "tel:…".
func transferURI(text string) (sip.Uri, error) {
	text = strings.Trim(text, "<>")
	if number, ok := strings.CutPrefix(text, "tel:"); ok {
		text = "sip:" + number + "@" + loopback
	}
	var uri sip.Uri
	err := sip.ParseUri(text, &uri)
	return uri, err
}
