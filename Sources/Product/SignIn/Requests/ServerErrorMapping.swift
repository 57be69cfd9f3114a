import API
import HTTP

extension Contract {
    /// Maps errors of ours or the provider's to the app's text for that call. `away`: for an
    /// unavailable provider, if the app has another text for that.
    static func mappingServerErrors(
        _ text: String, away: String? = nil, _ work: () async throws -> Response
    ) async throws -> Response {
        do {
            return try await work()
        } catch let refusal as SignInRefusal where refusal == .noProvider {
            var problem = ours(Problem(.internalError, text), refusal.cause)
            problem.isForeseen = true
            throw problem
        } catch let refusal as SignInRefusal where refusal.isProviderAway {
            let later = [Field("retry-after", "5")]
            throw ours(Problem(.unavailable, away ?? text, fields: later), refusal.cause)
        } catch let refusal as SignInRefusal {
            throw refusal
        } catch {
            var problem = error as? Problem ?? storageProblem(error) ?? .internalError
            guard problem.status >= 500 else { throw problem }
            problem.detail = text
            throw ours(problem, problem.cause ?? "\(error)")
        }
    }

    private static func ours(_ problem: Problem, _ cause: String?) -> Problem {
        var problem = problem
        problem.cause = cause
        return problem
    }
}
