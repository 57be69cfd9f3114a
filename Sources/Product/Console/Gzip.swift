import CZlib

/// The gzip coding (RFC 1952).
enum Gzip {
    enum Level: Int32 {
        case quick = 3
        /// And slowest: for files that are compressed once.
        case best = 9
    }

    /// nil if zlib fails: the file is then served uncompressed.
    static func compress(_ bytes: [UInt8], level: Level = .best) -> [UInt8]? {
        var stream = z_stream()
        // 15 window bits plus 16 select the gzip format instead of zlib's.
        let begun = deflateInit2_(
            &stream, level.rawValue, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY,
            ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard begun == Z_OK else { return nil }
        defer { deflateEnd(&stream) }
        var input = bytes
        var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))))
        let written: Int? = input.withUnsafeMutableBufferPointer { source in
            output.withUnsafeMutableBufferPointer { target in
                stream.next_in = source.baseAddress
                stream.avail_in = UInt32(source.count)
                stream.next_out = target.baseAddress
                stream.avail_out = UInt32(target.count)
                return deflate(&stream, Z_FINISH) == Z_STREAM_END ? Int(stream.total_out) : nil
            }
        }
        return written.map { Array(output[..<$0]) }
    }
}
