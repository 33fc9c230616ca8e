package main

import (
	"slices"
	"testing"
)

func frameOf(value int16) []int16 {
	frame := make([]int16, frameSamples)
	for i := range frame {
		frame[i] = value
	}
	return frame
}

func TestFullQueueDropsTheOldestFrame(t *testing.T) {
	q := newFrameQueue()
	for value := range int16(maxQueuedFrames + 2) {
		q.push(frameOf(value))
	}
	for want := int16(2); want < maxQueuedFrames+2; want++ {
		if frame := q.pop(); frame == nil || frame[0] != want {
			t.Fatalf("want frame %d, got %v", want, frame)
		}
	}
	if q.pop() != nil {
		t.Fatal("an empty queue gave a frame")
	}
}

func TestFramerKeepsEverySampleInOrder(t *testing.T) {
	var in, out []int16
	var cut framer
	for _, size := range []int{1, 159, 160, 481, 39, 120} {
		chunk := make([]int16, size)
		for i := range chunk {
			chunk[i] = int16(len(in) + i)
		}
		in = append(in, chunk...)
		cut.add(chunk, func(frame []int16) {
			if len(frame) != frameSamples {
				t.Fatalf("a frame of %d samples", len(frame))
			}
			out = append(out, frame...)
		})
	}
	if !slices.Equal(in, out) {
		t.Fatal("samples changed on the way")
	}
}

func TestMixAddsAndClips(t *testing.T) {
	if got := mix([][]int16{frameOf(100), frameOf(-30)})[7]; got != 70 {
		t.Fatalf("100 - 30 = %d", got)
	}
	if got := mix([][]int16{frameOf(30000), frameOf(30000)})[0]; got != 32767 {
		t.Fatalf("too loud: %d", got)
	}
	if got := mix(nil); !slices.Equal(got, frameOf(0)) {
		t.Fatal("no track is not silence")
	}
}

func TestSamplesSurviveTheirBytes(t *testing.T) {
	want := []int16{0, 1, -1, 32767, -32768, 258}
	if got := toSamples(toBytes(want)); !slices.Equal(got, want) {
		t.Fatalf("%v became %v", want, got)
	}
}
