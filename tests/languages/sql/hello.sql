create table numbers (value integer);
.import '|cat -' numbers
select 'Σ = ' || sum(value) || ' ✓' as answer from numbers;
