import CZlib
import Testing

@testable import HTTP

@Suite struct GunzipTests {
    /// As gzip writes it.
    private static func pack(_ bytes: [UInt8]) -> [UInt8] {
        var stream = z_stream()
        deflateInit2_(
            &stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size))
        defer { deflateEnd(&stream) }
        var input = bytes
        var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))))
        let count = input.withUnsafeMutableBufferPointer { source in
            output.withUnsafeMutableBufferPointer { target in
                stream.next_in = source.baseAddress
                stream.avail_in = UInt32(source.count)
                stream.next_out = target.baseAddress
                stream.avail_out = UInt32(target.count)
                deflate(&stream, Z_FINISH)
                return Int(stream.total_out)
            }
        }
        return Array(output[..<count])
    }

    private func unpack(
        _ packed: [UInt8], pieces size: Int = 1000, limit: Int = 1 << 24, ratio: Int = 2000
    ) async throws -> [UInt8] {
        let pieces = stride(from: 0, to: packed.count, by: size).map {
            Array(packed[$0..<min($0 + size, packed.count)])
        }
        let stream = try Self.stream(pieces).unpacked(limit: limit, ratio: ratio)
        var all: [UInt8] = []
        while let piece = try await stream.next() {
            #expect(piece.count <= 64 << 10)
            all += piece
        }
        return all
    }

    static func stream(_ pieces: [[UInt8]]) -> BodyStream {
        let (stream, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        for piece in pieces { continuation.yield(piece) }
        continuation.finish()
        let iterator = Iterator(stream)
        return BodyStream { await iterator.next() }
    }

    private actor Iterator {
        private var rest: [[UInt8]] = []
        private let stream: AsyncStream<[UInt8]>
        private var isRead = false

        init(_ stream: AsyncStream<[UInt8]>) { self.stream = stream }

        func next() async -> [UInt8]? {
            if !isRead { for await piece in stream { rest.append(piece) } }
            isRead = true
            return rest.isEmpty ? nil : rest.removeFirst()
        }
    }

    @Test func `a body is the same in pieces of any size`() async throws {
        let text = (0..<20_000).flatMap { Array("line \($0 &* 7919)\n".utf8) }
        for size in [1, 7, 1000, 1 << 20] {
            #expect(try await unpack(Self.pack(text), pieces: size) == text)
        }
    }

    @Test func `several members are one body`() async throws {
        let (a, b) = (Array("first ".utf8), Array("second".utf8))
        #expect(try await unpack(Self.pack(a) + Self.pack([]) + Self.pack(b)) == a + b)
    }

    @Test func `what is cut, broken or no gzip is refused`() async throws {
        let packed = Self.pack(Array("some text of some length".utf8))
        var broken = packed
        broken[broken.count - 5] ^= 1
        for body in [
            Array(packed.dropLast()), Array(packed.prefix(10)), [], Array("plain".utf8), broken,
            packed + [1, 2, 3],
        ] {
            await #expect(throws: HTTPError.self) { try await unpack(body) }
        }
    }

    @Test func `neither a long content nor a dense one is unpacked whole`() async throws {
        let packed = Self.pack([UInt8](repeating: 0x61, count: 1 << 23))
        #expect(try await unpack(packed).count == 1 << 23)
        await #expect(throws: HTTPError(413, "The unpacked body is too large.")) {
            try await unpack(packed, limit: 1 << 22)
        }
        await #expect(throws: HTTPError(413, "The body unpacks to far more than it has.")) {
            try await unpack(packed, ratio: 100)
        }
    }
}
