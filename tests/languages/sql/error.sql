select * from missing;
select 'not reached';
