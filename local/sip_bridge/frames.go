package main

const (
	sampleRateHz    = 8000
	frameSamples    = 160 // 20 ms
	maxQueuedFrames = 5   // what a track may be ahead of the phone: 100 ms
)

// frameQueue holds audio on its way to the phone. It has one writer. When it is full the oldest
// frame goes: a caller must hear what is said now, not what was said while nobody listened.
type frameQueue struct {
	frames chan []int16
}

func newFrameQueue() *frameQueue {
	return &frameQueue{frames: make(chan []int16, maxQueuedFrames)}
}

func (q *frameQueue) push(frame []int16) {
	select {
	case q.frames <- frame:
		return
	default:
	}
	select {
	case <-q.frames:
	default: // the reader took one meanwhile
	}
	q.frames <- frame // there is room: nobody else writes
}

// pop returns the oldest frame, or nil if there is none.
func (q *frameQueue) pop() []int16 {
	select {
	case frame := <-q.frames:
		return frame
	default:
		return nil
	}
}

// framer cuts a stream of samples into frames.
type framer struct {
	rest []int16
}

func (f *framer) add(samples []int16, emit func(frame []int16)) {
	f.rest = append(f.rest, samples...)
	for len(f.rest) >= frameSamples {
		frame := make([]int16, frameSamples)
		copy(frame, f.rest)
		f.rest = f.rest[frameSamples:]
		emit(frame)
	}
}

// mix adds frames up, clipping what gets too loud; silence if there are none.
func mix(frames [][]int16) []int16 {
	mixed := make([]int16, frameSamples)
	for i := range mixed {
		var sum int32
		for _, frame := range frames {
			sum += int32(frame[i])
		}
		mixed[i] = int16(max(-32768, min(32767, sum)))
	}
	return mixed
}

// Little-endian bytes, the form the G.711 coder takes and gives.

func toBytes(samples []int16) []byte {
	bytes := make([]byte, 2*len(samples))
	for i, s := range samples {
		bytes[2*i], bytes[2*i+1] = byte(s), byte(s>>8)
	}
	return bytes
}

func toSamples(bytes []byte) []int16 {
	samples := make([]int16, len(bytes)/2)
	for i := range samples {
		samples[i] = int16(bytes[2*i]) | int16(bytes[2*i+1])<<8
	}
	return samples
}
