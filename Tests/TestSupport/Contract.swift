import API
import Gatehouse
import HTTP
import JSON

/// Checks what goes over the wire against `/openapi.json`: every answer, including refusals, and
/// the requests that were accepted.
package struct Contract: Sendable {
    package struct Violation: Error, CustomStringConvertible {
        package var description: String
    }

    private struct Operation: Sendable {
        var method: String
        var path: String
        var segments: [Substring]
        var body: JSONValue
    }

    /// The contract of every endpoint that is served.
    package static let served = Contract(
        OpenAPIDocument(endpoints: Routes.all, version: "test").bytes)

    private let document: JSONValue
    private let operations: [Operation]

    package init(_ bytes: [UInt8]) {
        document = (try? JSONValue(parsing: bytes)) ?? .null
        operations = (document["paths"]?.members ?? []).flatMap { path in
            (path.value.members ?? []).map { operation in
                Operation(
                    method: operation.name.uppercased(), path: path.name,
                    segments: path.name.split(separator: "/"), body: operation.value)
            }
        }
    }

    /// Throws the differences, with the operation's name.
    package func check(_ request: Request, _ response: Response) throws(Violation) {
        guard let operation = operation(request) else {
            // The apps' own contracts, below /t/ and on bound hosts, are documented elsewhere.
            let isOurs = request.path.utf8.starts(with: "/v1/".utf8)
            if isOurs, response.status < 300, request.method != .options {
                throw Violation(
                    description: "\(request.method.rawValue) \(request.path): not documented")
            }
            return
        }
        var faults = answerFaults(operation, response, isHead: request.method == .head)
        if response.status < 300 { faults += requestFaults(operation, request) }
        guard faults.isEmpty else {
            let id = operation.body["operationId"]?.string ?? operation.path
            throw Violation(
                description: "\(id) \(response.status): \(faults.joined(separator: "; "))")
        }
    }

    /// The operation with the most literal segments, as the router chooses it.
    private func operation(_ request: Request) -> Operation? {
        let method = request.method == .head ? "GET" : request.method.rawValue
        let segments = request.path.split(separator: "/")
        func literals(_ operation: Operation) -> Int {
            operation.segments.count { $0.first != "{" }
        }
        return operations.filter { operation in
            operation.method == method && operation.segments.count == segments.count
                && zip(operation.segments, segments).allSatisfy { $0.first == "{" || $0 == $1 }
        }.max { literals($0) < literals($1) }
    }

    private func answerFaults(
        _ operation: Operation, _ response: Response, isHead: Bool
    ) -> [String] {
        guard let answer = operation.body["responses"]?["\(response.status)"] else {
            return ["the status is not documented"]
        }
        let undeclared = ResponseHeader.allCases.map(\.rawValue).filter {
            response.first($0.lowercased()) != nil && answer["headers"]?[$0] == nil
        }
        guard undeclared.isEmpty else { return undeclared.map { "\($0) is not declared" } }
        if case .stream = response.body {
            let type = (response.first("content-type") ?? "").prefix { $0 != ";" }
            return answer["content"]?[String(type)] == nil ? ["\(type) is not documented"] : []
        }
        guard case .bytes(let bytes) = response.body, !isHead else { return [] }
        guard let content = answer["content"] else {
            return bytes.isEmpty ? [] : ["a body is not documented"]
        }
        let type = (response.first("content-type") ?? "").prefix { $0 != ";" }
        guard let media = content[String(type)] else { return ["\(type) is not documented"] }
        guard let schema = media["schema"], type.hasSuffix("json") else { return [] }
        guard let value = try? JSONValue(parsing: bytes) else { return ["the answer is not JSON"] }
        if let codes = answer["x-codes"]?.array, let code = value["code"], !codes.contains(code) {
            return ["the code \(code.string ?? "") is not declared"]
        }
        return faults(value, schema, isRequest: false)
    }

    private func requestFaults(_ operation: Operation, _ request: Request) -> [String] {
        let declared = (operation.body["parameters"]?.array ?? []).filter {
            $0["in"]?.string == "query"
        }.compactMap { $0["name"]?.string }
        let sent = request.query.split(separator: "&").map { $0.prefix { $0 != "=" } }
        var faults = sent.filter { name in
            // `attributes.<name>` stands for every name after the dot.
            !declared.contains {
                $0 == name || $0.contains("<") && name.hasPrefix($0.prefix { $0 != "<" })
            }
        }.map { "?\($0) is not declared" }
        guard !request.body.isEmpty,
            let schema = operation.body["requestBody"]?["content"]?["application/json"]?["schema"],
            // A file is taken as it is.
            schema["format"]?.string != "binary",
            let value = try? JSONValue(parsing: request.body)
        else { return faults }
        faults += self.faults(value, schema, isRequest: true).map { "request " + $0 }
        return faults
    }

    private func faults(_ value: JSONValue, _ schema: JSONValue, isRequest: Bool) -> [String] {
        var checker = SchemaChecker(document: document, isRequest: isRequest)
        checker.check(value, schema)
        return checker.faults
    }
}
