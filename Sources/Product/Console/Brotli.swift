import CBrotli

/// The brotli coding (RFC 7932): a sixth smaller than gzip, of files of ours.
enum Brotli {
    /// As small as it gets, with the library's default window; nil if the library fails.
    static func compress(_ bytes: [UInt8]) -> [UInt8]? {
        var size = BrotliEncoderMaxCompressedSize(bytes.count)
        guard size > 0 else { return nil }
        var output = [UInt8](repeating: 0, count: size)
        let isDone = BrotliEncoderCompress(
            BROTLI_MAX_QUALITY, BROTLI_DEFAULT_WINDOW, BROTLI_MODE_TEXT, bytes.count, bytes, &size,
            &output)
        return isDone == BROTLI_TRUE ? Array(output[..<size]) : nil
    }
}
