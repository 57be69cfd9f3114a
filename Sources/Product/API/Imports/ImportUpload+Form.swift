import HTTP
import Storage
import Text

extension ImportUpload {
    mutating func readForm(
        _ given: MultipartReader, _ pieces: BodyStream, _ staging: inout Staging
    ) async throws {
        var form = given
        var part: FormPart?
        var said: [UInt8] = []
        var names: [String] = []
        while true {
            switch try form.next() {
            case .needsMore: form.append(try await pieces.next() ?? [])
            case .part(let next):
                part = next
                try Self.check(next, after: names)
                names.append(next.name)
                if next.name == "file" { try await begin(type: next.type) }
            case .content(let piece) where part?.name == "file": try await take(piece, &staging)
            case .content(let piece):
                said += piece
                guard said.count <= ImportLimits.options else {
                    throw Problem(.payloadTooLarge, "The part options is too long.")
                }
            case .partEnded:
                if part?.name == "file" {
                    try await finish(&staging)
                } else {
                    options = try ImportOptions(said)
                }
            case .ended:
                guard names.contains("file") else {
                    throw Problem.invalid([FieldError("/file", .required, "is required")])
                }
                return
            }
        }
    }

    /// The options come first: the file is read with them.
    private static func check(_ part: FormPart, after names: [String]) throws {
        guard ["options", "file"].contains(part.name) else {
            throw Problem.invalid([
                FieldError(pointer("", part.name), .unknown, "is not a part of this form")
            ])
        }
        guard !names.contains(part.name) else {
            throw Problem.invalid([FieldError("/\(part.name)", .duplicate, "stands twice")])
        }
        guard !names.contains("file") else {
            throw Problem.invalid([
                FieldError("/options", .notAllowed, "must stand before the file")
            ])
        }
    }
}
