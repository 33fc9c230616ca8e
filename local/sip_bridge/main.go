// Command sip_bridge connects phones that speak SIP with rooms of a LiveKit server, on loopback,
// for the tests and the demo of this project. See README.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/emiago/diago"
	dmedia "github.com/emiago/diago/media"
	"github.com/emiago/sipgo"
	"github.com/emiago/sipgo/sip"
	"github.com/livekit/protocol/logger"
	"github.com/livekit/protocol/rpc"
	"github.com/livekit/psrpc"
	lksdk "github.com/livekit/server-sdk-go/v2"
	"github.com/redis/go-redis/v9"
)

const (
	loopback       = "127.0.0.1"
	attrCallIDFull = "sip.callIDFull"
	attrCallTag    = "sip.callTag"
)

// bridge ties the three sides together: phones, rooms, and livekit-server's control plane.
type bridge struct {
	url, key, secret string // of the LiveKit server
	phones           *diago.Diago
	digest           *diago.DigestAuthServer
	io               rpc.IOInfoClient
	server           rpc.SIPInternalServer
	calls            *callTable
}

type options struct {
	url, redis       string
	sipPort          int
	rtpStart, rtpEnd int
}

func main() {
	var o options
	flag.StringVar(&o.url, "url", "ws://127.0.0.1:7880", "LiveKit server")
	flag.StringVar(&o.redis, "redis", "127.0.0.1:6379", "Redis that the LiveKit server uses")
	flag.IntVar(&o.sipPort, "sip-port", 5060, "UDP port for SIP")
	flag.IntVar(&o.rtpStart, "rtp-start", 21000, "first UDP port for RTP")
	flag.IntVar(&o.rtpEnd, "rtp-end", 21200, "end of the UDP ports for RTP; a call takes two")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	quiet()
	if err := run(ctx, o); err != nil {
		slog.Error("stopped", "error", err)
		os.Exit(1)
	}
}

// quiet keeps the libraries' logs to what needs attention.
func quiet() {
	sip.SetDefaultLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if zap, err := logger.NewZapLogger(&logger.Config{Level: "error"}); err == nil {
		lksdk.SetLogger(zap)
	}
}

func run(ctx context.Context, o options) error {
	b := &bridge{
		url: o.url, key: os.Getenv("LIVEKIT_API_KEY"), secret: os.Getenv("LIVEKIT_API_SECRET"),
		digest: diago.NewDigestServer(), calls: newCallTable(),
	}
	if err := b.listen(ctx, o); err != nil {
		return fmt.Errorf("SIP port %d: %w", o.sipPort, err)
	}
	if err := b.register(o); err != nil {
		return fmt.Errorf("control plane: %w", err)
	}
	slog.Info("ready", "sip", o.sipPort, "livekit", o.url)
	<-ctx.Done()
	slog.Info("stopping")
	b.server.Kill()
	b.calls.hangUpAll()
	return nil
}

func (b *bridge) listen(ctx context.Context, o options) error {
	dmedia.RTPPortStart, dmedia.RTPPortEnd = o.rtpStart, o.rtpEnd
	agent, err := sipgo.NewUA(sipgo.WithUserAgent("livekit"))
	if err != nil {
		return err
	}
	b.phones = diago.NewDiago(agent, diago.WithTransport(diago.Transport{Transport: "udp", BindHost: loopback, BindPort: o.sipPort}))
	// Calls outlive the signal that stops the bridge: they are ended with a BYE first.
	return b.phones.ServeBackground(context.WithoutCancel(ctx), b.inbound)
}

func (b *bridge) register(o options) error {
	bus := psrpc.NewRedisMessageBus(redis.NewClient(&redis.Options{Addr: o.redis}))
	var err error
	if b.io, err = rpc.NewIOInfoClient(bus); err != nil {
		return err
	}
	if b.server, err = rpc.NewSIPInternalServer(b, bus); err != nil {
		return err
	}
	return b.server.RegisterCreateSIPParticipantTopic("")
}
