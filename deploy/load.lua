-- For wrk. WORK=lines: lines of the file LINES_OF (bodies, or keys to verify) go to PATH_OF, each
-- thread's and each run's from a part of its own, so that nothing is asked twice. WORK=list: a list
-- of 50 users of any of the seeded tenants. KEY is who asks.
local threads = 0
function setup(thread) thread:set("number", threads); threads = threads + 1 end

local requests, at = {}, 0
function init()
  math.randomseed(number * 7919 + os.time())
  wrk.headers["Authorization"] = "Bearer " .. os.getenv("KEY")
  if os.getenv("WORK") == "list" then return end
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

function request()
  if #requests == 0 then
    local tenant = string.format("00000000-0000-4000-8000-%012d", math.random(1000))
    return wrk.format("GET", "/v1/tenants/" .. tenant .. "/users?limit=50")
  end
  at = at + 1
  return requests[(at - 1) % #requests + 1]
end
