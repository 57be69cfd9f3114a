-- The requests of wrk for deploy/measure/balance, deploy/checks/soak and deploy/checks/imports, by wrk -s deploy/lib/load.lua URL with
-- the key in KEY.
-- WORK=lines posts the lines of the file LINES_OF (bodies, or keys to verify) to PATH_OF; each thread and each
-- of RUNS runs (RUN) has its own lines, so that none is sent twice. WORK=list asks for 50 users of one of the
-- seeded tenants. WORK=preflight sends preflights of ORIGIN, each for another path UNDER one, by ROUND.
-- WORK=ordinary asks for users and policy of the tenant TENANT and verifies KEY, by turns, and each connection waits
-- 10 to 30 ms between two.
local work = os.getenv("WORK")
local threads = 0
function setup(thread) thread:set("number", threads); threads = threads + 1 end

local requests, at = {}, 0
function init()
  math.randomseed(number * 7919 + os.time())
  if work == "preflight" then
    wrk.headers["Origin"] = os.getenv("ORIGIN")
    wrk.headers["Access-Control-Request-Method"] = "GET"
    return
  end
  wrk.headers["Authorization"] = "Bearer " .. os.getenv("KEY")
  if work == "list" then return end
  if work == "ordinary" then
    local path = "/v1/tenants/" .. os.getenv("TENANT")
    requests = { wrk.format("GET", path .. "/users?limit=10"), wrk.format("GET", path .. "/policy"),
      wrk.format("POST", "/v1/api-keys/verify", { ["Content-Type"] = "application/json",
        ["Authorization"] = wrk.headers["Authorization"] }, '{"key":"' .. os.getenv("KEY") .. '"}') }
    return
  end
  wrk.headers["Content-Type"] = "application/json"
  local line, run, runs = 0, tonumber(os.getenv("RUN") or 0), tonumber(os.getenv("RUNS") or 1)
  for text in io.lines(os.getenv("LINES_OF")) do
    if line % (2 * runs) == 2 * run + number then
      if text:sub(1, 1) ~= "{" then text = '{"key":"' .. text .. '"}' end
      requests[#requests + 1] = wrk.format("POST", os.getenv("PATH_OF"), nil, text)
    end
    line = line + 1
  end
end

if work == "ordinary" then
  function delay() return 10 + math.random(20) end
end

function request()
  at = at + 1
  if work == "preflight" then
    local path = string.format("%s/%d-%s-%d", os.getenv("UNDER"), number, os.getenv("ROUND"), at)
    return wrk.format("OPTIONS", path)
  end
  if work == "list" then
    local tenant = string.format("00000000-0000-4000-8000-%012d", math.random(1000))
    return wrk.format("GET", "/v1/tenants/" .. tenant .. "/users?limit=50")
  end
  return requests[(at - 1) % #requests + 1]
end
