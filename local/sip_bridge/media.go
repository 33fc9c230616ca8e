package main

import (
	"context"
	"strings"

	"github.com/emiago/diago"
	dmedia "github.com/emiago/diago/media"
	"github.com/zaf/g711"
)

const payloadTypePCMA = 8

// connect copies audio and DTMF between the phone and the room until the call ends.
func connect(ctx context.Context, phone *diago.DialogMedia, leg *roomLeg) {
	decode, encode := g711.DecodeUlaw, g711.EncodeUlaw
	if dmedia.CodecAudioFromSession(phone.MediaSession()).PayloadType == payloadTypePCMA {
		decode, encode = g711.DecodeAlaw, g711.EncodeAlaw
	}
	go toPhone(ctx, phone, leg, encode)
	go toRoom(ctx, phone, leg, decode)
}

func toPhone(ctx context.Context, phone *diago.DialogMedia, leg *roomLeg, encode func([]byte) []byte) {
	writer, err := phone.AudioWriter()
	if err != nil {
		return
	}
	for ctx.Err() == nil {
		// The writer keeps the pace: it returns once every 20 ms.
		if _, err := writer.Write(encode(toBytes(leg.nextFrame()))); err != nil {
			return
		}
	}
}

func toRoom(ctx context.Context, phone *diago.DialogMedia, leg *roomLeg, decode func([]byte) []byte) {
	reader, err := phone.AudioReader()
	if err != nil {
		return
	}
	if digits, err := phone.AudioReaderDTMF(); err == nil { // the phone may not offer it
		digits.OnDTMF(func(digit rune) error {
			code := uint32(strings.IndexRune("0123456789*#ABCD", digit))
			return leg.room.LocalParticipant.PublishDTMF(code, string(digit))
		})
		reader = digits
	}
	var cut framer
	packet := make([]byte, dmedia.RTPBufSize)
	for ctx.Err() == nil {
		n, err := reader.Read(packet)
		if err != nil {
			return
		}
		cut.add(toSamples(decode(packet[:n])), leg.say)
	}
}
