import API
import HTTP
import JSON

extension Problem {
    /// The refusal as most apps expect it: `{"error": text}` and no more.
    var plainError: Response {
        var answer = Response.json(
            status, bytes: JSONValue.object([.init("error", .string(detail))]).encoded())
        answer.fields += fields
        return answer
    }
}
