// SPDX-License-Identifier: MIT

package remote

import "encoding/binary"

// command is one of ggml's RPC protocol, version 7. A request is its byte, eight bytes of size,
// and so many; an answer is eight bytes of size and so many. Everything is little endian.
type command byte

// The commands, by ggml's numbers.
const (
	allocBuffer command = iota
	getAlignment
	getMaxSize
	bufferGetBase
	freeBuffer
	bufferClear
	setTensor
	setTensorHash
	getTensor
	copyTensor
	graphCompute
	getDeviceMemory
	initTensor
	getAllocSize
	hello
	deviceCount
	graphRecompute
	memsetTensor
	noCommand
)

var commandNames = [...]string{"ALLOC_BUFFER", "GET_ALIGNMENT", "GET_MAX_SIZE", "BUFFER_GET_BASE", "FREE_BUFFER", "BUFFER_CLEAR", "SET_TENSOR",
	"SET_TENSOR_HASH", "GET_TENSOR", "COPY_TENSOR", "GRAPH_COMPUTE", "GET_DEVICE_MEMORY", "INIT_TENSOR", "GET_ALLOC_SIZE", "HELLO", "DEVICE_COUNT",
	"GRAPH_RECOMPUTE", "MEMSET_TENSOR"}

func (c command) String() string {
	if int(c) < len(commandNames) {
		return commandNames[c]
	}
	return "unknown command"
}

const (
	requestHeader = 9
	answerHeader  = 8
	capsSize      = 24 // of HELLO: what else than TCP a side can do
	helloSize     = 4 + capsSize
	versionSize   = 3 // of HELLO's answer: the numbers of the protocol's version

	tensorSize    = 296 // of a serialised tensor
	tensorNE      = 20  // in it: four lengths
	tensorNB      = 36  // and four strides in bytes
	getTensorSize = tensorSize + 16
	allocSizeHead = 4 + tensorSize // device and tensor; those that it is computed from follow

	// What of a request the guard may look at.
	headSize = getTensorSize
)

// answers are the sizes of the commands' answers; other commands have none. That of getTensor
// stands in its request.
var answers = map[command]uint64{
	allocBuffer: 16, getAlignment: 8, getMaxSize: 8, bufferGetBase: 8, setTensorHash: 1, getTensor: 0, copyTensor: 1, getDeviceMemory: 16,
	getAllocSize: 8, hello: helloSize, deviceCount: 4,
}

// answerSize is how long the answer to a request must be, if there is one. head is the request's
// beginning.
func (c command) answerSize(head []byte) (size uint64, answered bool) {
	if c == getTensor && len(head) >= getTensorSize {
		return binary.LittleEndian.Uint64(head[tensorSize+8:]), true
	}
	size, answered = answers[c]
	return size, answered
}

// fakeBase is where the buffers of a lost worker are said to begin: nobody follows such an address
// here, but ggml wants one that is aligned and not null.
const fakeBase = 1 << 32

// substitute is what ggml is answered in a lost worker's place, with which it goes on without
// harm: no memory is left, so what is being loaded fails; all that is sent is accepted; and all
// that is computed is zero, which the host does not use.
func (c command) substitute(head []byte) []byte {
	size, _ := c.answerSize(head)
	answer := make([]byte, size)
	switch c {
	case getAlignment:
		binary.LittleEndian.PutUint64(answer, 128)
	case getMaxSize:
		binary.LittleEndian.PutUint64(answer, 1<<62)
	case bufferGetBase:
		binary.LittleEndian.PutUint64(answer, fakeBase)
	case setTensorHash, copyTensor: // it has the tensor already, so that no gigabytes are sent to nobody; and it has copied
		answer[0] = 1
	case getDeviceMemory: // shares of layers are divided by the sum
		binary.LittleEndian.PutUint64(answer, 1)
		binary.LittleEndian.PutUint64(answer[8:], 1)
	case getAllocSize:
		if len(head) >= allocSizeHead {
			tensor := head[4:]
			length, stride := binary.LittleEndian.Uint32(tensor[tensorNE+12:]), binary.LittleEndian.Uint32(tensor[tensorNB+12:])
			binary.LittleEndian.PutUint64(answer, uint64(length)*uint64(stride))
		}
	}
	return answer
}
