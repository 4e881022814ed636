% SPDX-License-Identifier: GPL-2.0-or-later
% Two functions that are worth a profile, for so many milliseconds.
-module(hot).
-export([main/1, hot_fib/1, hot_loop/2]).

hot_fib(N) when N < 2 -> N;
hot_fib(N) -> hot_fib(N - 1) + hot_fib(N - 2).

hot_loop(0, Sum) -> Sum;
hot_loop(N, Sum) -> hot_loop(N - 1, (Sum * 31 + N) band 16#ffffff).

main(Ms) -> go(erlang:monotonic_time(millisecond) + Ms, 0).

go(End, Sum) ->
	case erlang:monotonic_time(millisecond) >= End of
		true -> io:format("sum=~p~n", [Sum]), halt(0);
		false -> go(End, Sum + hot_fib(20) + hot_loop(50000, 0))
	end.
