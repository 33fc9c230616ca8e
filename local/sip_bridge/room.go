package main

import (
	"strings"
	"sync"
	"time"

	"github.com/livekit/protocol/auth"
	"github.com/livekit/protocol/livekit"
	lksdk "github.com/livekit/server-sdk-go/v2"
	"github.com/pion/webrtc/v4"
	wmedia "github.com/pion/webrtc/v4/pkg/media"
	opus "gopkg.in/hraban/opus.v2"
)

// participant says who joins which room.
type participant struct {
	room, identity, name, metadata string
	attributes                     map[string]string
	config                         *livekit.RoomConfiguration // of the room, if joining creates it
	token, url                     string                     // given by the server, or made here
}

// roomLeg is a phone's place in a room: what the room says is queued for the phone, and what the
// phone says is published.
type roomLeg struct {
	room    *lksdk.Room
	track   *lksdk.LocalTrack
	encoder *opus.Encoder
	audible chan struct{} // closed when there is something to hear
	gone    chan struct{} // closed when the room ended for us: removed, or the room was deleted

	mu     sync.Mutex
	queues map[string]*frameQueue // by track
}

func (b *bridge) join(who participant) (*roomLeg, error) {
	encoder, err := opus.NewEncoder(sampleRateHz, 1, opus.AppVoIP)
	if err != nil {
		return nil, err
	}
	leg := &roomLeg{
		encoder: encoder,
		audible: make(chan struct{}),
		gone:    make(chan struct{}),
		queues:  map[string]*frameQueue{},
	}
	url, token := who.url, who.token
	if url == "" {
		url = b.url
	}
	if token == "" {
		if token, err = b.token(who); err != nil {
			return nil, err
		}
	}
	leg.room, err = lksdk.ConnectToRoomWithToken(url, token, leg.callbacks(), lksdk.WithExtraAttributes(who.attributes))
	if err != nil {
		return nil, err
	}
	if err := leg.publish(); err != nil {
		leg.room.Disconnect()
		return nil, err
	}
	return leg, nil
}

func (b *bridge) token(who participant) (string, error) {
	yes := true
	token := auth.NewAccessToken(b.key, b.secret).
		SetIdentity(who.identity).SetName(who.name).SetMetadata(who.metadata).
		SetKind(livekit.ParticipantInfo_SIP).SetAttributes(who.attributes).
		SetVideoGrant(&auth.VideoGrant{
			RoomJoin: true, Room: who.room,
			CanPublish: &yes, CanSubscribe: &yes, CanPublishData: &yes, CanUpdateOwnMetadata: &yes,
		})
	if who.config != nil {
		token.SetRoomConfig(who.config)
	}
	return token.ToJWT()
}

// callbacks follow the room. There is something to hear with the first audio track of somebody
// else, or with another phone in the room (two phones would wait for each other).
func (l *roomLeg) callbacks() *lksdk.RoomCallback {
	audible := sync.OnceFunc(func() { close(l.audible) })
	gone := sync.OnceFunc(func() { close(l.gone) })
	callbacks := lksdk.NewRoomCallback()
	callbacks.OnTrackSubscribed = func(track *webrtc.TrackRemote, _ *lksdk.RemoteTrackPublication, _ *lksdk.RemoteParticipant) {
		if track.Kind() == webrtc.RTPCodecTypeAudio {
			audible()
			go l.receive(track)
		}
	}
	callbacks.OnParticipantConnected = func(other *lksdk.RemoteParticipant) {
		if other.Kind() == lksdk.ParticipantSIP {
			audible()
		}
	}
	callbacks.OnDisconnectedWithReason = func(lksdk.DisconnectionReason) { gone() }
	return callbacks
}

func (l *roomLeg) publish() error {
	track, err := lksdk.NewLocalTrack(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus, ClockRate: 48000, Channels: 2})
	if err != nil {
		return err
	}
	l.track = track
	_, err = l.room.LocalParticipant.PublishTrack(track, &lksdk.TrackPublicationOptions{
		Name: "sip", Source: livekit.TrackSource_MICROPHONE,
	})
	return err
}

// receive decodes a track of the room into its queue until the track ends.
func (l *roomLeg) receive(track *webrtc.TrackRemote) {
	if !strings.EqualFold(track.Codec().MimeType, webrtc.MimeTypeOpus) {
		return
	}
	decoder, err := opus.NewDecoder(sampleRateHz, 1)
	if err != nil {
		return
	}
	queue := newFrameQueue()
	l.mu.Lock()
	l.queues[track.ID()] = queue
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.queues, track.ID())
		l.mu.Unlock()
	}()
	var cut framer
	pcm := make([]int16, sampleRateHz*120/1000) // an opus packet is at most 120 ms long
	for {
		packet, _, err := track.ReadRTP()
		if err != nil {
			return
		}
		if len(packet.Payload) == 0 {
			continue
		}
		if n, err := decoder.Decode(packet.Payload, pcm); err == nil {
			cut.add(pcm[:n], queue.push)
		}
	}
}

// nextFrame is what the phone hears now.
func (l *roomLeg) nextFrame() []int16 {
	var frames [][]int16
	l.mu.Lock()
	for _, queue := range l.queues {
		if frame := queue.pop(); frame != nil {
			frames = append(frames, frame)
		}
	}
	l.mu.Unlock()
	return mix(frames)
}

// say sends a frame of the phone's audio into the room.
func (l *roomLeg) say(frame []int16) {
	packet := make([]byte, 1000)
	n, err := l.encoder.Encode(frame, packet)
	if err != nil {
		return
	}
	// A frame that cannot be sent is lost, as on any phone line.
	_ = l.track.WriteSample(wmedia.Sample{Data: packet[:n], Duration: 20 * time.Millisecond}, nil)
}

func (l *roomLeg) setAttributes(attributes map[string]string) {
	l.room.LocalParticipant.SetAttributes(attributes)
}

func (l *roomLeg) setStatus(status string) {
	l.setAttributes(map[string]string{livekit.AttrSIPCallStatus: status})
}

func (l *roomLeg) leave(reason livekit.DisconnectReason) {
	l.room.DisconnectWithReason(reason)
}
