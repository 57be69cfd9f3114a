import Glibc

/// Writes responses, one after the other, into a loop's output buffer: `begin`, `field`…, then one
/// of the `finish` calls. A field that could split the response (CR, LF, NUL, a bad name) turns it
/// into a plain 500.
package final class ResponseWriter {
    /// Holds the written responses until the loop sends them.
    package let out: OutputBuffer
    private var begun = 0
    private var status = 200
    private var unsafeField = false
    private var isHead = false
    private var isHTTP10 = false
    private var closes = false
    private var date = HTTPDate()

    /// `out` may be shared by the connections of one loop.
    package init(out: OutputBuffer = OutputBuffer()) { self.out = out }

    /// Sets the properties of the next response. `now` is monotonic, in nanoseconds; the Date field
    /// is refreshed from the wall clock once a second.
    package func prepare(isHead: Bool, isHTTP10: Bool, closes: Bool, now: Int64) {
        self.isHead = isHead
        self.isHTTP10 = isHTTP10
        self.closes = closes
        date.refresh(now)
    }

    /// Writes the status line and the Date field.
    package func begin(_ status: Int) {
        begun = out.count
        self.status = status
        unsafeField = false
        if let line = statusLine(status) {
            out.append(line)
        } else {
            out.append("HTTP/1.1 ")
            out.append(number: status)
            out.append(" \r\n")
        }
        out.append("date: ")
        date.withBytes { out.append($0) }
        out.append("\r\n")
    }

    package func field(_ name: StaticString, _ value: StaticString) {
        out.append(name)
        out.append(": ")
        out.append(value)
        out.append("\r\n")
    }

    /// A checked field: a CR, LF or NUL in the value turns the response into a 500.
    package func field(_ name: StaticString, _ value: UnsafeRawBufferPointer) {
        out.append(name)
        out.append(": ")
        check(value)
        out.append(value)
        out.append("\r\n")
    }

    /// A checked field: a bad name or a CR, LF or NUL turns the response into a 500.
    package func field(_ name: String, _ value: String) {
        var name = name
        var value = value
        name.withUTF8 { bytes in
            if bytes.isEmpty || !bytes.allSatisfy(isToken) { unsafeField = true }
            out.append(UnsafeRawBufferPointer(bytes))
        }
        out.append(": ")
        value.withUTF8 { bytes in
            check(UnsafeRawBufferPointer(bytes))
            out.append(UnsafeRawBufferPointer(bytes))
        }
        out.append("\r\n")
    }

    /// Ends the response with a body of known length.
    package func finish(_ body: UnsafeRawBufferPointer) {
        if unsafeField { return replaceBy500() }
        let bodiless = status == 204 || status == 304 || status < 200
        if !bodiless {
            out.append("content-length: ")
            out.append(number: body.count)
            out.append("\r\n")
        }
        endHead()
        if !bodiless, !isHead { out.append(body) }
    }

    package func finish(_ body: StaticString = "") {
        finish(UnsafeRawBufferPointer(start: body.utf8Start, count: body.utf8CodeUnitCount))
    }

    /// Ends the head of a streamed response. False if no body may follow. HTTP/1.0 has no chunks:
    /// closing the connection ends the body.
    package func finishStreamHead() -> Bool {
        if unsafeField {
            replaceBy500()
            return false
        }
        let bodiless = status == 204 || status == 304
        if !bodiless, !isHTTP10 { out.append("transfer-encoding: chunked\r\n") }
        endHead()
        return !bodiless && !isHead
    }

    /// One piece of a streamed body; an empty piece is skipped, since an empty chunk would end the
    /// body.
    package func chunk(_ piece: [UInt8], isHTTP10: Bool) {
        if piece.isEmpty { return }
        if isHTTP10 { return out.append(piece) }
        out.append(number: piece.count, base: 16)
        out.append("\r\n")
        out.append(piece)
        out.append("\r\n")
    }

    /// The last chunk; HTTP/1.0 ends the body by closing the connection.
    package func endChunks(isHTTP10: Bool) { if !isHTTP10 { out.append("0\r\n\r\n") } }

    /// Writes a whole response. True if its streamed body must follow.
    package func write(_ response: Response) -> Bool {
        begin(response.status)
        for each in response.fields where !Self.isOurs(each.name) { field(each.name, each.value) }
        switch response.body {
        case .empty: finish()
        case .bytes(let bytes): bytes.withUnsafeBytes { finish($0) }
        case .stream: return finishStreamHead()
        }
        return false
    }

    package static func isOurs(_ name: String) -> Bool {
        switch name.utf8.count {
        case 4: name == "date"
        case 10: name == "connection"
        case 14: name == "content-length"
        case 17: name == "transfer-encoding"
        default: false
        }
    }

    private func endHead() { out.append(closes ? "connection: close\r\n\r\n" : "\r\n") }

    private func check(_ value: UnsafeRawBufferPointer) {
        for byte in value where byte == 0x0D || byte == 0x0A || byte == 0 { unsafeField = true }
    }

    private func replaceBy500() {
        out.truncate(to: begun)
        begin(500)
        finish()
    }
}
