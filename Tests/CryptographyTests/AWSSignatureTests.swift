import Cryptography
import Testing

/// The signatures were made by botocore 1.43 for `lambda.invoke`, with its clock held still.
@Suite struct AWSSignatureTests {
    private static let secret = Array("wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY00".utf8)
    private static let scope =
        "0b9d3a52-7a43-4c0e-9f0a-6a1c1e2b3d4f/20261121/eu-central-1/lambda/aws4_request"

    private static let plain = (
        authorization: "AWS4-HMAC-SHA256 Credential=\(scope), SignedHeaders=host;x-amz-date, "
            + "Signature=b37da558c7e2d128e371ae7a8bd7cc0fad02f54d5f6565531c1ead1add9ce1d2",
        request: AWSSignature.Signed(
            method: "POST", path: "/2015-03-31/functions/pre-signup/invocations", query: "",
            fields: [("host", "127.0.0.1:8080"), ("x-amz-date", "20261121T120000Z")],
            body: Array(#"{"userPoolId":"eu_1","name":"Jörg"}"#.utf8))
    )

    /// The function by its ARN, with a qualifier and two more fields.
    private static let long = (
        authorization: "AWS4-HMAC-SHA256 Credential=\(scope), "
            + "SignedHeaders=host;x-amz-date;x-amz-invocation-type;x-amz-log-type, "
            + "Signature=c02b6dd1a9401a55c37081e506664859c1291e4f53e568a2843fb498700043e9",
        request: AWSSignature.Signed(
            method: "POST",
            path: "/2015-03-31/functions/arn%3Aaws%3Alambda%3Aeu-central-1%3A123456789012"
                + "%3Afunction%3Apre-signup/invocations",
            query: "Qualifier=%24LATEST",
            fields: plain.request.fields + [
                ("x-amz-log-type", "None"), ("x-amz-invocation-type", "RequestResponse"),
                ("user-agent", "any"),
            ], body: plain.request.body)
    )

    @Test func `a signature of an AWS client is accepted`() throws {
        for vector in [Self.plain, Self.long] {
            let signature = try #require(AWSSignature(vector.authorization))
            #expect(signature.accessKeyID == "0b9d3a52-7a43-4c0e-9f0a-6a1c1e2b3d4f")
            #expect(signature.service == "lambda")
            #expect(signature.date(of: vector.request) == "20261121T120000Z")
            #expect(signature.matches(vector.request, secret: Self.secret))
            #expect(!signature.matches(vector.request, secret: Self.secret + [0x30]))
        }
    }

    @Test func `nothing that is signed may be changed`() throws {
        let signature = try #require(AWSSignature(Self.long.authorization))
        func changed(_ change: (inout AWSSignature.Signed) -> Void) -> Bool {
            var request = Self.long.request
            change(&request)
            return signature.matches(request, secret: Self.secret)
        }
        #expect(!changed { $0.method = "PUT" })
        #expect(!changed { $0.path += "x" })
        #expect(!changed { $0.query = "Qualifier=%241" })
        #expect(!changed { $0.body[0] = 0x20 })
        #expect(!changed { $0.fields[0].value = "other" })
        #expect(!changed { $0.fields[1].value = "20261121T120001Z" })
        #expect(!changed { $0.fields.append(("x-amz-client-context", "e30=")) })
        #expect(!changed { $0.fields.append(("x-amz-date", "20261121T120000Z")) })
        #expect(!changed { $0.fields.append(("x-amz-content-sha256", "UNSIGNED-PAYLOAD")) })
        // What is not signed may come and go.
        #expect(changed { $0.fields.removeLast() })
    }

    @Test func `the host and the date have to be signed`() {
        for names in ["host", "x-amz-date", "x-amz-date;host", "host;host;x-amz-date"] {
            let line = Self.plain.authorization.replacing("host;x-amz-date", with: names)
            #expect(AWSSignature(line)?.date(of: Self.plain.request) == nil, "\(names)")
        }
    }

    @Test(arguments: [
        "Bearer x", "AWS4-HMAC-SHA256", "AWS4-HMAC-SHA256 Credential=a/b/c/d/aws4_request",
        "AWS4-HMAC-SHA256 Credential=a/b/c/aws4_request, SignedHeaders=host, Signature=00",
        "AWS4-HMAC-SHA512 Credential=\(scope), SignedHeaders=host, Signature=00",
        "AWS4-HMAC-SHA256 Credential=\(scope), SignedHeaders=host, Signature=zz",
    ])
    func `a signature in another form is refused`(line: String) {
        #expect(AWSSignature(line) == nil)
    }
}
